// The rules that the checks rest on: each with its level, its source and the sentence that says so.

/**
 * MUST: the platform's specification, the contract or an RFC demands it. SHOULD: one of them or OWASP ASVS 5.0 recommends it.
 * Advice: neither does; it has proved useful.
 */
export type Level = 'MUST' | 'SHOULD' | 'advice'

export interface Rule {
  level: Level
  /** `platform`: its specification in nine parts. `contract`: what this project has decided where that is silent. */
  source: 'platform' | 'contract' | 'ASVS 5.0' | 'experience' | `RFC ${number}`
  /** Of the source: a section, a part, or a requirement. A rule of the contract is found by its id. */
  section?: string
  /** Exact words of an RFC or of ASVS; of the platform and the contract the sense in one sentence. */
  quote: string
}

export type RuleId = keyof typeof catalogue

const catalogue = {
  // The start of a login.
  'CL-01': platform(
    '4.2',
    'Start authorization: GET {login_url}/ with the query parameters; the browser is sent there.',
  ),
  'start-parameters': platform(
    '4.2',
    'Required: grant_type (must be authorization), response_type (must be code), client_id, redirect_uri, cancel_url.',
  ),
  'redirect-to-portal': should(platform('4.3', "/login redirects the user's browser to the login portal.")),
  'redirect-uri-registered': platform('4.2', 'redirect_uri is the one registered with the application.'),
  'cancel-url-own': contract('cancel_url has the origin of a registered redirect URI.'),
  'cancel-url-page': platform('4.2', 'cancel_url is the address used when the user declines authorization.'),
  'state-per-login': platform('5.5', 'A state is generated for each login request.'),
  'oauth-parameters-once': rfc(6749, '3.1', 'Request and response parameters MUST NOT be included more than once.'),
  'token-parameters-once': rfc(6749, '3.2', 'Request and response parameters MUST NOT be included more than once.'),
  'CL-02': rfc(
    6749,
    '10.12',
    'The binding value used for CSRF protection MUST contain a non-guessable value (as described in Section 10.10)',
  ),
  'state-128-bits': asvs(
    '11.5.1',
    'all random numbers and strings which are intended to be non-guessable must be generated using a cryptographically secure pseudo-random number generator (CSPRNG) and have at least 128 bits of entropy. Note that UUIDs do not respect this condition.',
  ),
  'CL-22': should(rfc(9700, '2.1.1', 'For confidential clients, the use of PKCE [RFC7636] is RECOMMENDED')),
  'pkce-s256': rfc(7636, '4.2', 'If the client is capable of using "S256", it MUST use "S256"'),
  'pkce-per-login': rfc(
    9700,
    '2.1.1',
    'In any case, the PKCE challenge or OpenID Connect nonce MUST be transaction-specific and securely bound to the client and the user agent in which the transaction was started.',
  ),
  'pkce-verifier': rfc(7636, '4.1', 'with a minimum length of 43 characters and a maximum length of 128 characters.'),
  'CL-07': contract(
    'Cookies of unfinished logins are few and small, so that they fill neither the cookie jar nor a request.',
  ),
  'CL-08': contract('The cookie of a login is Secure, HttpOnly, SameSite=Lax, without Domain.'),
  'login-cookie-short': should(contract('The cookie of a login lives at most ten minutes.')),
  'cookie-host-prefix': asvs(
    '3.3.3',
    "cookies have the '__Host-' prefix for the cookie name unless they are explicitly designed to be shared with other hosts.",
  ),
  'CL-32': should(contract('The login path and the callback refuse loads that are no navigation of a whole page.')),
  'CL-31': contract('The login path takes GET alone: no form of another site begins a login.'),
  'CL-33': contract('A login that cannot succeed ends on a page that explains it, not in an endless redirect.'),
  'head-no-effect': should(
    rfc(
      9110,
      '9.2.1',
      'Of the request methods defined by this specification, the GET, HEAD, OPTIONS, and TRACE methods are defined to be safe.',
    ),
  ),

  'metadata-issuer': rfc(
    8414,
    '3.3',
    'If these values are not identical, the data contained in the response MUST NOT be used.',
  ),
  'metadata-optional': should(
    contract("A login waits a moment at most for the portal's metadata, and goes on without it."),
  ),
  'metadata-no-host': should(
    contract("The portal's metadata decides on PKCE and on revocation, and never to which host anything is sent."),
  ),
  'no-extra-fields': contract(
    "PKCE is used where the portal's metadata lists S256; otherwise the requests are those of the specification, with no extra field.",
  ),
  'metadata-remembered': contract(
    'What the metadata of the portal once offered is not forgotten because it cannot be read just now.',
  ),
  'iss-promised': should(
    rfc(
      9207,
      '2.4',
      "Clients MUST reject authorization responses without the iss parameter from authorization servers that do support the parameter according to the client's configuration.",
    ),
  ),
  'iss-not-promised': should(contract('iss is not demanded of a portal whose metadata does not promise it.')),

  // Coming back.
  'login-works': platform('5.4', 'The access token is sent with every request that requires authorization.'),
  'CL-26': contract(
    'The first page after a login is signed in, although browsers hold back Strict cookies after a redirect chain that another site began.',
  ),
  'CL-27': contract(
    'The page that answers the callback has no referrer, loads nothing foreign, and repeats neither code nor state.',
  ),
  'CL-28': contract(
    'The code does not stay in the address bar or the history; Back and Reload do not run the callback again.',
  ),
  'CL-29': contract(
    'A callback that the browser delivers again, as browsers do when a connection drops, does no harm.',
  ),
  'resent-callback-signs-in': advice(
    'The visitor has done everything right and sees only the last of several answers.',
  ),
  'no-store': asvs(
    '14.3.2',
    'the application sets sufficient anti-caching HTTP response header fields (i.e., Cache-Control: no-store) so that sensitive data is not cached in browsers.',
  ),
  'CK-17': contract('An answer that sets a cookie of a login or a session may not be kept by a cache.'),
  'CL-04': rfc(6749, '10.12', 'The client MUST implement CSRF protection for its redirection URI.'),
  'CL-03': rfc(
    9700,
    '2.1',
    'one-time use CSRF tokens carried in the state parameter that are securely bound to the user agent MUST be used for CSRF protection',
  ),
  'CL-05': rfc(
    9700,
    '2.1',
    'one-time use CSRF tokens carried in the state parameter that are securely bound to the user agent MUST be used for CSRF protection',
  ),
  'code-once': rfc(6749, '4.1.2', 'The client MUST NOT use the authorization code more than once.'),
  'state-once-after-failure': should(
    rfc(
      9700,
      '4.2.4',
      'The state value SHOULD be invalidated by the client after its first use at the redirection endpoint.',
    ),
  ),
  'CL-09': contract('A callback in which code stands twice is refused.'),
  'parameter-pollution': asvs('15.3.7', 'the application has defenses against HTTP parameter pollution attacks'),
  'CL-10': contract("A callback's client_id must be the client's own."),
  'CL-11': platform('4.2', 'redirect_uri in the token exchange must equal the redirect_uri used at start.'),
  'CL-12': contract('The subject in the address of the callback never decides who is signed in.'),
  'CL-13': contract('A callback with an error shows a page and makes no token request.'),
  'callback-code': platform('4.3', 'code is required: the authorization code generated by the authorization server.'),
  'callback-required-parameters': should(platform('4.3', 'Required in the callback: code, subject, client_id.')),
  'CL-23': should(
    rfc(
      9207,
      '2.4',
      'If the value does not match the expected issuer identifier, clients MUST reject the authorization response',
    ),
  ),
  'unknown-parameters': rfc(6749, '4.1.2', 'The client MUST ignore unrecognized response parameters.'),
  'oauth-sanitize': rfc(
    6749,
    '10.14',
    'The authorization server and client MUST sanitize (and validate when possible) any value received',
  ),
  'CL-15': rfc(
    6749,
    '4.1.3',
    'The client makes a request to the token endpoint by sending the following parameters using the "application/x-www-form-urlencoded" format per Appendix B',
  ),
  'code-length': advice('A code that is far longer than any code is not sent to the portal.'),
  'only-supported-methods': asvs(
    '4.1.4',
    'only HTTP methods that are explicitly supported by the application or its API',
  ),
  'CL-20': contract('A login replaces any session that was there before, and never adopts a value that was planted.'),
  'CL-25': rfc(9700, '4.11.1', 'Clients MUST NOT expose open redirectors.'),
  'return-to': advice('A login that a page asked for leads back to that page.'),
  'header-injection': rfc(9110, '5.5', 'Field values containing CR, LF, or NUL characters are invalid and dangerous'),

  // The exchange.
  'CL-14': platform(
    '4.2',
    'Token exchange: POST {login_url}/api/exchangeToken, form-encoded, with grant_type=authorization_code, code, client_id, client_secret, redirect_uri and state.',
  ),
  'credentials-in-body': rfc(
    6749,
    '2.3.1',
    'The parameters can only be transmitted in the request-body and MUST NOT be included in the request URI.',
  ),
  'one-authentication': rfc(
    6749,
    '2.3',
    'The client MUST NOT use more than one authentication method in each request.',
  ),
  'secret-on-backend': platform('5.6', 'The client secret is used only from the backend.'),
  'UP-12': contract("Neither cookies nor credentials of the visitor's browser are passed on to the platform."),
  'own-request-headers': advice("The client's calls carry its own headers, and none of the visitor's browser."),
  'UP-15': contract('The client secret goes to the portal and nowhere else.'),
  'bearer-header': platform('4.1', 'All requests carry Authorization: Bearer <ACCESS_TOKEN>.'),
  'CK-08': rfc(
    6749,
    '10.3',
    'Access token credentials (as well as any confidential access token attributes) MUST be kept confidential in transit and storage',
  ),
  'CL-17': platform('5.3', 'The client validates the returned state against the one generated at login.'),
  'CL-18': contract(
    'A token response is checked before it becomes a session: access_token is a non-empty text that a header can carry.',
  ),
  'token-type-understood': rfc(
    6749,
    '7.1',
    'The client MUST NOT use an access token if it does not understand the token type.',
  ),
  'token-type-required': should(
    rfc(6749, '5.1', 'REQUIRED. The type of the token issued as described in Section 7.1.'),
  ),
  'token-type-case': rfc(6749, '5.1', 'Value is case insensitive.'),
  'unknown-response-members': rfc(6749, '5.1', 'The client MUST ignore unrecognized value names in the response.'),
  'refresh-token-optional': rfc(
    6749,
    '5.1',
    'OPTIONAL. The refresh token, which can be used to obtain new access tokens using the same authorization grant',
  ),
  'CL-19': contract(
    'expires_in is a finite number above 0 or the login fails cleanly; no cookie gets a lifetime that browsers ignore or cap.',
  ),

  // Cookies and sessions.
  'CK-01': contract(
    'The cookie of a session is HttpOnly, Secure, SameSite, without Domain, and its Max-Age equals expires_in.',
  ),
  'cookie-strict': should(
    platform(
      '5.4',
      'The token may be stored in a cookie with httpOnly, secure and same-site strict flags and a max-age equal to expires_in.',
    ),
  ),
  'CK-03': contract(
    'No cookie is larger than the 4,096 bytes that browsers keep: a large session is split or refused visibly.',
  ),
  'CK-04': contract("All cookies of the client together fit into a request, with room for a neighbour's."),
  'few-small-cookies': should(
    rfc(
      6265,
      '6.1',
      'Servers SHOULD use as few and as small cookies as possible to avoid reaching these implementation limits',
    ),
  ),
  'CK-05': contract('What a cookie holds of a session is confidential and cannot be changed.'),
  'session-unguessable': rfc(
    6749,
    '10.10',
    'The probability of an attacker guessing generated tokens (and other credentials not intended for handling by end-users) MUST be less than or equal to 2^(-128)',
  ),
  'CK-06': contract('A value that was sealed for one purpose is not accepted for another.'),
  'sealed-for-one-purpose': asvs(
    '9.2.2',
    "the service receiving a token validates the token to be the correct type and is meant for the intended purpose before accepting the token's contents.",
  ),
  'CK-10': contract('Unknown, malformed, duplicate or foreign cookies never cause a failure of the server.'),
  'CK-18': should(
    contract(
      'Only an answer that changes a session sets its cookie, so that a slow answer does not overwrite a newer session.',
    ),
  ),
  'CK-12': contract('Any replica can take any step, whichever took the step before.'),
  'survives-restart': should(contract('Sessions and unfinished logins survive a restart of the client.')),
  'refresh-used': should(platform('2', 'refresh_token is for refreshing the access token.')),
  'RF-01': rfc(6749, '6', 'REQUIRED. Value MUST be set to "refresh_token".'),
  'renewal-form': rfc(
    6749,
    '6',
    'the client makes a refresh request to the token endpoint by adding the following parameters using the "application/x-www-form-urlencoded" format per Appendix B',
  ),
  'renewal-not-repeated': should(
    rfc(9110, '9.2.2', 'A client SHOULD NOT automatically retry a request with a non-idempotent method'),
  ),
  'refused-for-good': should(
    contract('unsupported_grant_type and unauthorized_client refuse a renewal for good, as invalid_grant does.'),
  ),
  'RF-02': contract('Simultaneous renewals with the same refresh token do not sign the visitor out.'),
  'RF-03': should(contract('Requests that arrive together share one renewal.')),
  'RF-05': contract(
    'Only a refusal for good ends a session: other failures of a renewal keep it, and invalid_grant ends it.',
  ),
  'RF-08': contract('A renewal without a refresh token keeps the old one; its answer needs no state.'),
  'refresh-token-replaced': rfc(
    6749,
    '6',
    'the client MUST discard the old refresh token and replace it with the new refresh token.',
  ),
  'RF-09': contract('What a renewal brings reaches the browser with the answer to the request that renewed.'),
  'RF-10': contract('A session is renewed when it is due, not at every request, however short its token lives.'),
  'visitors-apart': platform('4.1', 'The bearer token identifies the user: each visitor sees their own.'),

  // Tabs.
  'CL-06': contract('Several logins at once in one browser all work.'),
  'many-tabs': advice('A browser that restores its windows begins many logins at once, and all of them work.'),

  // Signing out.
  'CK-13': contract(
    'Signing out ends the session here at once, whatever the portal does, and Back shows nothing of it.',
  ),
  'session-ended-for-all': asvs(
    '7.4.1',
    'when session termination is triggered (such as logout or expiration), the application disallows any further use of the session.',
  ),
  'RF-11': should(
    rfc(7009, '1', 'This revocation mechanism allows a client to invalidate its tokens if the end-user logs out'),
  ),
  'PG-04': rfc(
    9110,
    '9.2.1',
    'If the purpose of such a resource is to perform an unsafe action, then the resource owner MUST disable or disallow that action when it is accessed using a safe request method.',
  ),
  'PG-01': contract('Every change of state is a POST, and is refused unless it comes from a page of the client.'),
  'logout-not-silent': should(contract('Whoever has signed out is not signed in again without having asked for it.')),
  'clear-site-data': advice('Clear-Site-Data: "cookies" also takes the cookies of every other host of the domain.'),
  'logout-says-so': advice('A page that says "signed out" tells more than a login form.'),

  // Pages.
  'PG-02': contract("The client's own address comes from its configuration, never from Host or a forwarded header."),
  'own-redirects': advice("A redirect within the client is relative, or has the client's own address in front."),
  'PG-05': contract('Addresses that users typed are loaded neither by pages nor by the server.'),
  'PG-06': contract('Addresses that users typed become links only if they are http or https.'),
  'PG-07': contract('Every value is escaped for the place on the page where it stands.'),
  'PG-08': contract('No page can be framed by another site.'),
  nosniff: asvs('3.4.4', "all HTTP responses contain an 'X-Content-Type-Options: nosniff' header field."),
  'content-security-policy': asvs('3.4.3', 'HTTP responses include a Content-Security-Policy response header field'),
  charset: asvs(
    '4.1.1',
    'every HTTP response with a message body contains a Content-Type header field that matches the actual content of the response, including the charset parameter to specify safe character encoding',
  ),
  hsts: asvs(
    '3.4.1',
    'a Strict-Transport-Security header field is included on all responses to enforce an HTTP Strict Transport Security (HSTS) policy.',
  ),
  'PG-11': contract("Pages with a visitor's data say Cache-Control: no-store."),
  'PG-12': contract('A link from another site opens the page for a visitor who is signed in.'),
  'PG-14': contract('A form that comes after the session ended does nothing by halves, and says so.'),
  'PG-15': contract('A form creates one application, however often the browser sends it.'),
  'PG-16': contract('A form that succeeded is answered with a redirect to a page, so that Reload sends nothing again.'),
  'form-kept': should(contract('A form that was refused comes back with what was typed.')),
  'form-of-its-visitor': contract('A form belongs to the visitor who opened it.'),
  'PG-19': contract('No page grants other origins access to it.'),
  'PG-20': contract(
    'Error pages show no stack, no path, no inner address, no token and no answer of the platform as it came.',
  ),
  'generic-errors': asvs(
    '16.5.1',
    'a generic message is returned to the consumer when an unexpected or security-sensitive error occurs',
  ),
  'PG-21': asvs('7.4.4', 'all pages that require authentication have easy and visible access to logout functionality.'),
  'PG-22': should(contract('Pages load no script, style or font of a third party.')),
  'PG-23': contract('An id from an address is checked and encoded before it becomes part of an address at the API.'),
  'links-apart': advice('Links to addresses that others typed open without access to the page that they were on.'),
  'not-found': should(
    rfc(
      9110,
      '15.5.5',
      'The 404 (Not Found) status code indicates that the origin server did not find a current representation for the target resource',
    ),
  ),
  'create-application': platform(
    '4.1',
    'Create application: POST /apps/v1 answers the created application with its OAuth client.',
  ),
  'create-envelope': should(
    platform('2', 'The create request is an envelope with two top-level fields and a nested data object.'),
  ),
  'secret-shown': should(contract('The secret of a new application is shown once, to whoever created it.')),
  'SE-04': contract('Secrets stand in no address, no log and no error page.'),

  // When the platform fails.
  'UP-01': contract('Nothing in a request chooses what the start carries or which host is called.'),
  'UP-02': contract('No redirect is followed in a call of the portal or the API.'),
  'UP-03': contract('Every call of the platform has a deadline that also ends an answer that trickles in.'),
  'UP-04': contract('Answers of the platform are read up to a bound, compressed ones as well.'),
  'bounded-answers': should(contract('The client hangs up on an answer beyond its bound.')),
  'UP-06': contract(
    'A failing or malformed answer of the platform ends on a page that says so: never a crash, never a session, never the end of one.',
  ),
  'UP-07': contract('A creation is not repeated by itself; what was refused as one too many is not repeated at once.'),
  'UP-13': contract('Answers of the platform are not passed through: none of their headers reaches the browser.'),
  'UP-14': contract(
    'A 401 leads to one renewal or to the login, a 403 to neither; other refusals of the API end on a page that says so.',
  ),
  'gateway-status': advice(
    'A failure of the platform is answered with 502, 503 or 504, so that 500 means the client itself.',
  ),
  'name-is-optional': should(contract('A login works although the portal cannot say the name of the visitor.')),
  'unknown-members': contract('Members of an answer that nobody knows are ignored.'),
  'long-list': advice('The specification names no bound on the list of applications.'),
  'bad-request-status': advice(
    'What a client sends wrongly is answered with a status from 400 to 499, so that 500 means the client itself (RFC 9110, 15.5).',
  ),
  'post-from-nowhere': should(contract('A POST with neither Sec-Fetch-Site nor Origin is refused.')),
  'bounded-bodies': should(contract('The body of a request is read up to a bound, and refused beyond it.')),
  'CK-07': contract('The server itself knows when a session ends, not only the Max-Age of its cookie.'),
  'token-is-opaque': should(
    contract('A login works with an access token that is no JWT; the client only sends it on.'),
  ),
  'token-ends-early': contract('A 401 leads to one renewal or to the login, whatever expires_in has said.'),
  'DO-10': should(contract('Logins that were begun and left cost the client neither memory nor connections for long.')),
  'next-visitor': contract(
    "Nothing of a visitor is shown to the next person, at the same browser or another: neither a secret, nor what was typed, nor the visitor's name.",
  ),
  'stays-up': contract('Whatever comes, the client answers with a page and goes on running.'),

  // The log.
  'LG-01': contract('Addresses are logged without code and other secrets of their query.'),
  'log-masked': asvs(
    '16.2.5',
    "when logging sensitive data, the application enforces logging based on the data's protection level.",
  ),
  'bearer-not-leaked': rfc(
    6750,
    '5.3',
    'Client implementations MUST ensure that bearer tokens are not leaked to unintended parties',
  ),
  'LG-02': contract('Errors are logged without the requests and answers that they carry.'),
  'LG-03': contract('What others sent cannot begin a line of the log.'),
  'LG-06': contract('Cookies of a session are not logged.'),
} satisfies Record<string, Rule>

export const rules: Record<RuleId, Rule> = catalogue

/** Where the sentence of a rule stands, for a reader. */
export function citationOf(rule: Rule): string {
  const { source, section } = rule
  if (section === undefined) return source
  if (source === 'platform') return `platform's specification, part ${section}`
  return source === 'ASVS 5.0' ? `OWASP ASVS 5.0, V${section}` : `${source}, section ${section}`
}

/** Everything about a rule in one line: id, source and sentence. */
export function describeRule(id: RuleId): string {
  return `${id} (${rules[id].level}), ${citationOf(rules[id])}: "${rules[id].quote}"`
}

function platform(section: string, quote: string): Rule {
  return { level: 'MUST', source: 'platform', section, quote }
}

function contract(quote: string): Rule {
  return { level: 'MUST', source: 'contract', quote }
}

function rfc(number: number, section: string, quote: string): Rule {
  return { level: 'MUST', source: `RFC ${number}`, section, quote }
}

function asvs(section: string, quote: string): Rule {
  return { level: 'SHOULD', source: 'ASVS 5.0', section, quote }
}

function should(rule: Rule): Rule {
  return { ...rule, level: 'SHOULD' }
}

function advice(quote: string): Rule {
  return { level: 'advice', source: 'experience', quote }
}
