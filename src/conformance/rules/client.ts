// The rules for a client of the platform, in any language, by subject.
import { advice, asvs, decision, platform, type Rule, rfc, should } from './rule.ts'

export const start = {
  'CL-01': platform(
    'A login starts with a redirect of the browser to `{login_url}/`. Nothing secret is in that address.',
  ),
  'start-parameters': platform(
    'The start carries grant_type=authorization, response_type=code, client_id, redirect_uri and cancel_url.',
  ),
  'redirect-to-portal': should(platform('`GET /login` of the client redirects the browser to the portal.')),
  'redirect-uri-registered': platform('redirect_uri is an address that is registered with the application.'),
  'cancel-url-own': decision('cancel_url has the origin of a registered redirect URI.'),
  'cancel-url-page': platform('At cancel_url the client has a page for visitors who declined.'),
  'state-per-login': platform('Each login has a new state.'),
  'CL-02': rfc(
    6749,
    '10.12',
    'Nobody can guess a state.',
    'The binding value used for CSRF protection MUST contain a non-guessable value (as described in Section 10.10)',
  ),
  'state-128-bits': asvs(
    '11.5.1',
    'A state has at least 128 random bits from a cryptographic generator. A UUID has fewer.',
    'all random numbers and strings which are intended to be non-guessable must be generated using a cryptographically secure pseudo-random number generator (CSPRNG) and have at least 128 bits of entropy. Note that UUIDs do not respect this condition.',
  ),
  'oauth-parameters-once': rfc(
    6749,
    '3.1',
    'The start carries each parameter once.',
    'Request and response parameters MUST NOT be included more than once.',
  ),
  'no-extra-fields': decision(
    'If the metadata of the portal does not list S256, the client uses no PKCE and sends no field that this page does not name.',
  ),
  'CL-22': should(
    rfc(
      9700,
      '2.1.1',
      'The client uses PKCE if the metadata of the portal lists S256.',
      'For confidential clients, the use of PKCE [RFC7636] is RECOMMENDED',
    ),
  ),
  'pkce-s256': rfc(
    7636,
    '4.2',
    'A client that uses PKCE uses the method S256.',
    'If the client is capable of using "S256", it MUST use "S256"',
  ),
  'pkce-per-login': rfc(
    9700,
    '2.1.1',
    'Each login has a PKCE verifier of its own, which is bound to the browser.',
    'In any case, the PKCE challenge or OpenID Connect nonce MUST be transaction-specific and securely bound to the client and the user agent in which the transaction was started.',
  ),
  'pkce-verifier': rfc(
    7636,
    '4.1',
    'A PKCE verifier has 43 to 128 characters.',
    'with a minimum length of 43 characters and a maximum length of 128 characters.',
  ),
  'CL-31': decision('The login path takes only GET, so that no form of another site starts a login.'),
  'CL-32': should(
    decision('The login path and the callback refuse requests that are not the navigation of a whole page.'),
  ),
  'CL-33': decision('A login that cannot succeed ends on a page that explains why, and not in a loop of redirects.'),
  'head-no-effect': should(
    rfc(
      9110,
      '9.2.1',
      'A HEAD request changes nothing: it starts no login and sets no cookie.',
      'Of the request methods defined by this specification, the GET, HEAD, OPTIONS, and TRACE methods are defined to be safe.',
    ),
  ),
  'CL-06': decision('Several logins at the same time in one browser all work.'),
  'many-tabs': advice('A browser that restores its windows starts many logins at once. All of them work.'),
} satisfies Record<string, Rule>

export const loginCookie = {
  'CL-07': decision(
    'The cookies of unfinished logins are few and small, so that they fill neither the cookie store of the browser nor a request.',
  ),
  'CL-08': decision('The cookie of a login is Secure, HttpOnly and SameSite=Lax, and has no Domain.'),
  'login-cookie-short': decision('The cookie of a login lives ten minutes at most.'),
  'CL-24': decision('A login is bound to the portal, the client id and the redirect URI that it was started with.'),
} satisfies Record<string, Rule>

export const metadata = {
  'metadata-issuer': rfc(
    8414,
    '3.3',
    'The client uses metadata only if its issuer is the address that the client asked.',
    'If these values are not identical, the data contained in the response MUST NOT be used.',
  ),
  'metadata-optional': decision(
    'A login waits one second at most for the metadata of the portal, and works without it.',
  ),
  'metadata-no-host': decision(
    'The metadata decides whether the client uses PKCE and revocation. It never decides to which host the client sends anything.',
  ),
  'revocation-listed': decision(
    'The client revokes tokens at the portal only if the metadata lists a revocation_endpoint.',
  ),
  'metadata-remembered': decision(
    'If the metadata cannot be read for a while, the client still uses the features that the last metadata offered.',
  ),
  'metadata-kept': should(
    decision(
      'The client reads the metadata at its start and keeps it for an hour. It tries a failed read again at the next login or sign-out.',
    ),
  ),
  'iss-promised': should(
    rfc(
      9207,
      '2.4',
      'If the metadata promises iss, the client refuses a callback without it.',
      "Clients MUST reject authorization responses without the iss parameter from authorization servers that do support the parameter according to the client's configuration.",
    ),
  ),
  'iss-not-promised': decision('If the metadata does not promise iss, the client accepts a callback without it.'),
} satisfies Record<string, Rule>

export const callback = {
  'callback-code': platform('A callback without a code or an error is refused.'),
  'callback-required-parameters': should(platform('A callback needs code, subject and client_id.')),
  'CL-03': rfc(
    9700,
    '2.1',
    'A state is bound to the browser that started the login. Another browser cannot use it.',
    'one-time use CSRF tokens carried in the state parameter that are securely bound to the user agent MUST be used for CSRF protection',
  ),
  'CL-04': rfc(
    6749,
    '10.12',
    'The client checks the state of a callback before it sends anything. A state that is missing, empty, doubled, wrong or expired is refused.',
    'The client MUST implement CSRF protection for its redirection URI.',
  ),
  'CL-05': rfc(
    9700,
    '2.1',
    'A state counts once. The answer to the callback deletes the cookie of the login, whether the login succeeded or not.',
    'one-time use CSRF tokens carried in the state parameter that are securely bound to the user agent MUST be used for CSRF protection',
  ),
  'state-once-after-failure': should(
    rfc(
      9700,
      '4.2.4',
      'The state of a login that failed does not count again.',
      'The state value SHOULD be invalidated by the client after its first use at the redirection endpoint.',
    ),
  ),
  'CL-21': rfc(
    9700,
    '4.7',
    'A callback with the code of somebody else is refused in a browser that did not start that login.',
  ),
  'code-once': rfc(
    6749,
    '4.1.2',
    'The client sends a code to the portal once.',
    'The client MUST NOT use the authorization code more than once.',
  ),
  'CL-09': decision('A callback with a repeated code is refused.'),
  'parameter-pollution': asvs(
    '15.3.7',
    'A callback with any repeated parameter of the platform is refused.',
    'the application has defenses against HTTP parameter pollution attacks',
  ),
  'CL-10': decision('The client_id of a callback is the client’s own. Otherwise the callback is refused.'),
  'CL-11': platform('The exchange sends the redirect_uri that started the login, never the one in the callback.'),
  'CL-12': decision('The subject in the callback never decides who is signed in.'),
  'refused-callback': decision(
    'A callback that belongs to no login of this browser is refused, and changes no session.',
  ),
  'CL-13': decision('A callback with an error shows a page and exchanges nothing.'),
  'CL-16': decision(
    'A callback whose code or state is too long, or has characters that no code has, is refused before anything is sent.',
  ),
  'code-length': advice('A code that is much longer than any real code is not sent to the portal.'),
  'CL-23': should(
    rfc(
      9207,
      '2.4',
      'If the callback has an iss, it is the issuer of the portal. Otherwise the callback is refused.',
      'If the value does not match the expected issuer identifier, clients MUST reject the authorization response',
    ),
  ),
  'unknown-parameters': rfc(
    6749,
    '4.1.2',
    'Unknown parameters of a callback are ignored.',
    'The client MUST ignore unrecognized response parameters.',
  ),
  'oauth-sanitize': rfc(
    6749,
    '10.14',
    'The client checks every value of a callback before it uses or shows it.',
    'The authorization server and client MUST sanitize (and validate when possible) any value received',
  ),
  'only-supported-methods': asvs(
    '4.1.4',
    'The login path and the callback answer other methods with 405.',
    'only HTTP methods that are explicitly supported by the application or its API',
  ),
  'CL-25': rfc(
    9700,
    '4.11.1',
    'After a login the client leads only to its own pages.',
    'Clients MUST NOT expose open redirectors.',
  ),
  'return-to': advice('A login that a page asked for leads back to that page.'),
  'return-after-failure': should(
    decision('After a failed or cancelled login, the next one still leads to the page that the visitor wanted.'),
  ),
  'header-injection': rfc(
    9110,
    '5.5',
    'A value of a request never adds a header to an answer.',
    'Field values containing CR, LF, or NUL characters are invalid and dangerous',
  ),
} satisfies Record<string, Rule>

export const callbackPage = {
  'login-works': platform('After the callback the visitor is signed in, and calls of the API carry the access token.'),
  'CL-26': decision(
    'The first page after a login is signed in, although browsers hold back Strict cookies after a redirect from another site.',
  ),
  'CL-27': decision(
    'The page at the callback sends no Referer, loads nothing from elsewhere, and repeats neither code nor state.',
  ),
  'CL-28': decision(
    'The code stays neither in the address bar nor in the history. Back and Reload do not repeat the callback.',
  ),
  'CL-29': decision('A callback that the browser sends again, as browsers do when a connection breaks, does no harm.'),
  'resent-callback-signs-in': advice(
    'A visitor whose browser sent the callback twice is signed in, although the browser shows only the last answer.',
  ),
  'no-store': asvs(
    '14.3.2',
    'No cache keeps an answer of the login path or the callback.',
    'the application sets sufficient anti-caching HTTP response header fields (i.e., Cache-Control: no-store) so that sensitive data is not cached in browsers.',
  ),
  'CK-17': decision('No cache may keep an answer that sets a cookie of a login or a session.'),
} satisfies Record<string, Rule>

export const exchange = {
  'CL-14': platform(
    'The server of the client exchanges the code: `POST {login_url}/api/exchangeToken`, as a form with grant_type=authorization_code, code, client_id, client_secret, redirect_uri and state.',
  ),
  'CL-15': rfc(
    6749,
    '4.1.3',
    'Each field of the form is encoded, so that no value adds a field.',
    'The client makes a request to the token endpoint by sending the following parameters using the "application/x-www-form-urlencoded" format per Appendix B',
  ),
  'token-parameters-once': rfc(
    6749,
    '3.2',
    'The exchange sends each field once.',
    'Request and response parameters MUST NOT be included more than once.',
  ),
  'credentials-in-body': rfc(
    6749,
    '2.3.1',
    'The client secret goes into the body, never into the address.',
    'The parameters can only be transmitted in the request-body and MUST NOT be included in the request URI.',
  ),
  'one-authentication': rfc(
    6749,
    '2.3',
    'The client authenticates in one way: with the secret in the body, and no Authorization header.',
    'The client MUST NOT use more than one authentication method in each request.',
  ),
  'secret-on-backend': platform('Only the server of the client uses the client secret.'),
  'UP-12': decision("The client passes neither cookies nor credentials of the visitor's browser on to the platform."),
  'own-request-headers': advice("The calls of the client carry its own headers and none of the visitor's browser."),
  'UP-15': decision('The client secret goes to the portal and nowhere else.'),
  'bearer-header': platform('Every call of the API carries `Authorization: Bearer` with the access token.'),
  'CK-08': rfc(
    6749,
    '10.3',
    'No page, script, address or readable cookie contains an access token.',
    'Access token credentials (as well as any confidential access token attributes) MUST be kept confidential in transit and storage',
  ),
  'CL-17': platform(
    'The state in the token response is that of the login. Otherwise the login fails and the tokens are dropped.',
  ),
  'CL-18': decision(
    'The client checks a token response before it starts a session: access_token is a non-empty text that a header can carry.',
  ),
  'token-type-understood': rfc(
    6749,
    '7.1',
    'The client uses an access token only if its type is Bearer.',
    'The client MUST NOT use an access token if it does not understand the token type.',
  ),
  'token-type-required': should(
    rfc(
      6749,
      '5.1',
      'A token response without token_type is refused.',
      'REQUIRED. The type of the token issued as described in Section 7.1.',
    ),
  ),
  'token-type-case': rfc(6749, '5.1', 'token_type is compared without regard to case.', 'Value is case insensitive.'),
  'unknown-response-members': rfc(
    6749,
    '5.1',
    'Unknown members of a token response are ignored.',
    'The client MUST ignore unrecognized value names in the response.',
  ),
  'refresh-token-optional': rfc(
    6749,
    '5.1',
    'A login works without a refresh token.',
    'OPTIONAL. The refresh token, which can be used to obtain new access tokens using the same authorization grant',
  ),
  'doubled-names': should(
    decision('If a name stands twice in a token response, the last one counts, as JSON.parse reads it.'),
  ),
  'CL-19': decision(
    'expires_in is a finite number above 0, or the login fails cleanly. No cookie gets a lifetime that browsers ignore or cut.',
  ),
  'token-is-opaque': should(
    decision('A login works with an access token that is not a JWT. The client only sends it on.'),
  ),
} satisfies Record<string, Rule>

export const cookies = {
  'CK-01': decision(
    'The cookie of a session is HttpOnly, Secure and SameSite, has no Domain, and its Max-Age equals expires_in.',
  ),
  'cookie-strict': should(platform('The cookie of a session is SameSite=Strict.')),
  'cookie-host-prefix': asvs(
    '3.3.3',
    'The name of a cookie begins with `__Host-`.',
    "cookies have the '__Host-' prefix for the cookie name unless they are explicitly designed to be shared with other hosts.",
  ),
  'CK-03': decision(
    'No cookie is larger than the 4,096 bytes that browsers keep. A larger session is split, or refused visibly.',
  ),
  'CK-04': decision(
    'All cookies of the client together fit into one request, and leave room for those of a neighbour.',
  ),
  'few-small-cookies': should(
    rfc(
      6265,
      '6.1',
      'The client sets few and small cookies.',
      'Servers SHOULD use as few and as small cookies as possible to avoid reaching these implementation limits',
    ),
  ),
  'CK-05': decision('Nobody can read or change what a cookie holds of a session.'),
  'session-unguessable': rfc(
    6749,
    '10.10',
    'Nobody can guess the value of a session cookie.',
    'The probability of an attacker guessing generated tokens (and other credentials not intended for handling by end-users) MUST be less than or equal to 2^(-128)',
  ),
  'CK-06': decision('A value that was sealed for one purpose is not accepted for another.'),
  'sealed-for-one-purpose': asvs(
    '9.2.2',
    'The client checks what a sealed value is for before it uses it.',
    "the service receiving a token validates the token to be the correct type and is meant for the intended purpose before accepting the token's contents.",
  ),
  'CK-07': decision('The server itself knows when a session ends. It does not rely on the Max-Age of the cookie.'),
  'CK-10': decision('Unknown, malformed, repeated or foreign cookies never cause an error of the server.'),
  'CK-12': decision('Any replica of the client can take any step, whichever replica took the step before.'),
  'survives-restart': should(decision('Sessions and unfinished logins survive a restart of the client.')),
  'CL-20': decision(
    'A login replaces the session that was there before. It never adopts a value that somebody planted.',
  ),
  'CK-18': should(
    decision(
      'Only an answer that changes a session sets its cookie, so that a slow answer does not overwrite a newer session.',
    ),
  ),
  'visitors-apart': platform('The access token identifies the user. Each visitor sees only their own data.'),
  'next-visitor': decision(
    "The client shows nothing of a visitor to the next person, at the same browser or another: no secret, no text from a form, and not the visitor's name.",
  ),
} satisfies Record<string, Rule>

export const renewal = {
  'refresh-used': should(platform('The client renews the access token with the refresh token.')),
  'RF-01': rfc(
    6749,
    '6',
    'A renewal is `POST {login_url}/api/exchangeToken` with grant_type=refresh_token, refresh_token, client_id and client_secret.',
    'REQUIRED. Value MUST be set to "refresh_token".',
  ),
  'renewal-form': rfc(
    6749,
    '6',
    'A renewal is sent as a form.',
    'the client makes a refresh request to the token endpoint by adding the following parameters using the "application/x-www-form-urlencoded" format per Appendix B',
  ),
  'renewal-not-repeated': decision('The client repeats no POST by itself: no exchange, no renewal and no creation.'),
  'RF-02': decision('Simultaneous renewals with the same refresh token do not sign the visitor out.'),
  'RF-03': should(decision('Requests that arrive together share one renewal.')),
  'RF-04': decision('A replica that lost the race for a renewal deletes no cookie of the winner.'),
  'RF-05': decision(
    'Only a refusal for good ends a session. invalid_grant ends it; any other failure of a renewal keeps it.',
  ),
  'refused-for-good': decision(
    'unsupported_grant_type and unauthorized_client refuse a renewal for good, as invalid_grant does.',
  ),
  'RF-08': decision('A renewal without a refresh token in its answer keeps the old one. The answer needs no state.'),
  'refresh-token-replaced': rfc(
    6749,
    '6',
    'A new refresh token replaces the old one.',
    'the client MUST discard the old refresh token and replace it with the new refresh token.',
  ),
  'RF-09': decision('The answer to the request that renewed carries the new tokens to the browser.'),
  'RF-10': decision('A session is renewed when it is due and not at every request, however short its token lives.'),
  'CK-09': decision('The refresh token outlives the access token, in a cookie of its own with a fixed end.'),
  'token-ends-early': decision('A 401 of the API leads to one renewal or to the login, whatever expires_in has said.'),
} satisfies Record<string, Rule>

export const signOut = {
  'CK-13': decision('Signing out ends the session at once, whatever the portal does. Back shows nothing of it.'),
  'session-ended-for-all': asvs(
    '7.4.1',
    'After signing out, a copy of the cookies is worthless.',
    'when session termination is triggered (such as logout or expiration), the application disallows any further use of the session.',
  ),
  'CK-15': decision(
    'After signing out, the tokens in a copy of the cookies are worthless, because the client has revoked them. This holds if the portal offers revocation.',
  ),
  'RF-11': should(
    rfc(
      7009,
      '1',
      'Signing out revokes the refresh token if the portal offers revocation. The visitor does not wait for the portal.',
      'This revocation mechanism allows a client to invalidate its tokens if the end-user logs out',
    ),
  ),
  'revoke-access-token': should(decision('Signing out revokes the access token if there is no refresh token.')),
  'PG-04': rfc(
    9110,
    '9.2.1',
    'GET changes nothing: it does not sign out, create or delete.',
    'If the purpose of such a resource is to perform an unsafe action, then the resource owner MUST disable or disallow that action when it is accessed using a safe request method.',
  ),
  'PG-01': decision('Every change of state is a POST. It is refused unless it comes from a page of the client.'),
  'post-from-nowhere': decision('A POST with neither Sec-Fetch-Site nor Origin is refused.'),
  'logout-not-silent': should(decision('After signing out, a visitor is signed in again only when they ask for it.')),
  'CK-14': decision('Signing out deletes no cookie of another host.'),
  'clear-site-data': advice('`Clear-Site-Data: "cookies"` also deletes the cookies of every other host of the domain.'),
  'logout-says-so': advice('After signing out, a page says so. It tells more than a login form.'),
  'portal-sign-out-link': should(
    decision("The client links the portal's sign-out only if the metadata lists end_session_endpoint."),
  ),
} satisfies Record<string, Rule>

export const name = {
  'name-is-optional': should(decision('A login works although the portal cannot tell the name of the visitor.')),
  'name-once': should(decision('The client asks for the name once, after a login, and waits one second at most.')),
} satisfies Record<string, Rule>

export const applications = {
  'create-application': platform('`POST /apps/v1` creates an application and answers it with its OAuth client.'),
  'create-envelope': should(platform('The body of a new application is an envelope with context, type and data.')),
  'secret-shown': should(
    decision('The client shows the secret of a new application once, to the person who created it.'),
  ),
  'PG-15': decision('One form creates one application, however often the browser sends it.'),
  'PG-14': decision('A form that arrives after the session has ended does nothing by halves, and says so.'),
  'PG-16': decision('A form that succeeded is answered with a redirect to a page, so that Reload sends nothing again.'),
  'form-kept': should(decision('A refused form comes back with what was typed.')),
  'own-forms': decision('The client takes its own form from a browser that sends Origin and no Sec-Fetch-Site.'),
  'form-of-its-visitor': decision('A form belongs to the visitor who opened it.'),
  'PG-17': decision('The limits of a form are those of the API, and the server checks them.'),
  'PG-23': decision('The client checks and encodes an id from an address before it uses it in an address of the API.'),
  'group-by-hand': should(decision('If the groups of the visitor cannot be listed, the form takes the id of a group.')),
  'long-list': advice('The client shows a list of 2,000 applications. The platform names no limit.'),
  'not-found': should(
    rfc(
      9110,
      '15.5.5',
      'A page that does not exist answers 404.',
      'The 404 (Not Found) status code indicates that the origin server did not find a current representation for the target resource',
    ),
  ),
} satisfies Record<string, Rule>

export const pages = {
  'PG-02': decision('The client takes its own address from its configuration, never from Host or a forwarded header.'),
  'own-redirects': advice("A redirect within the client is relative, or begins with the client's own address."),
  'PG-05': decision('Neither pages nor the server load addresses that users typed.'),
  'PG-06': decision('An address that a user typed becomes a link only if it is http or https.'),
  'id-in-link': should(decision('In a link, an id is encoded as one segment of a path or as one value.')),
  'links-apart': advice('A link to an address that others typed opens without access to the page that it was on.'),
  'PG-07': decision('Every value is escaped for its place on the page.'),
  'scripts-without-errors': advice(
    'Pages run without errors of their scripts, and load nothing that their own policy forbids.',
  ),
  'PG-08': decision('No other site can show a page of the client in a frame.'),
  'PG-03': decision('A page with a form lets the browser send its Origin. It has no `Referrer-Policy: no-referrer`.'),
  'PG-09': decision('Every answer has the security headers and a content type, errors of the HTTP parser included.'),
  'PG-10': decision('If the public address is https, HSTS asks for https for a year, and only for this host.'),
  nosniff: asvs(
    '3.4.4',
    'Every answer has `X-Content-Type-Options: nosniff`.',
    "all HTTP responses contain an 'X-Content-Type-Options: nosniff' header field.",
  ),
  'content-security-policy': asvs(
    '3.4.3',
    'Every page has a Content-Security-Policy.',
    'HTTP responses include a Content-Security-Policy response header field',
  ),
  charset: asvs(
    '4.1.1',
    'Every answer with a body names its content type and charset.',
    'every HTTP response with a message body contains a Content-Type header field that matches the actual content of the response, including the charset parameter to specify safe character encoding',
  ),
  hsts: asvs(
    '3.4.1',
    'A client on https sends HSTS.',
    'a Strict-Transport-Security header field is included on all responses to enforce an HTTP Strict Transport Security (HSTS) policy.',
  ),
  'PG-11': decision("Pages with a visitor's data have `Cache-Control: no-store`."),
  'PG-12': decision('A link from another site opens the page for a visitor who is signed in.'),
  'PG-13': decision(
    'The client looks for the session cookie first. Only without it does it ask whether the request comes from another site.',
  ),
  'PG-18': decision('A form is accepted only with the content type of a form.'),
  'PG-19': decision('No page grants another origin access (CORS).'),
  'PG-20': decision(
    'Error pages show no stack, path, inner address or token, and no answer of the platform as it came.',
  ),
  'generic-errors': asvs(
    '16.5.1',
    'Error pages are general and say nothing about the inside of the client.',
    'a generic message is returned to the consumer when an unexpected or security-sensitive error occurs',
  ),
  'PG-21': asvs(
    '7.4.4',
    'Every page for signed-in visitors offers to sign out.',
    'all pages that require authentication have easy and visible access to logout functionality.',
  ),
  'PG-22': should(decision('Pages load no script, style or font of a third party.')),
  'bad-request-status': advice(
    'A faulty request is answered with a status from 400 to 499, so that 500 means a fault of the client (RFC 9110, 15.5).',
  ),
  'bounded-bodies': should(decision('The client reads the body of a request up to a limit, and refuses a longer one.')),
  'DO-10': should(
    decision('Logins that were started and left cost the client neither memory nor connections for long.'),
  ),
  'head-as-get': should(
    decision('HEAD answers as GET without a body on public pages that renew no tokens. Everywhere else it is 405.'),
  ),
} satisfies Record<string, Rule>

export const failures = {
  'UP-01': decision('No value of a request chooses a parameter of the start, or a host that the client calls.'),
  'UP-02': decision('The client follows no redirect in a call of the portal or the API.'),
  'UP-03': decision('Every call of the platform has a deadline, which also ends an answer that trickles in.'),
  'UP-04': decision('The client reads answers of the platform up to a limit, compressed answers included.'),
  'bounded-answers': should(decision('The client closes the connection of an answer that exceeds its limit.')),
  'UP-06': decision(
    'A failing or malformed answer of the platform ends on a page that says so. It causes no crash, no session, and no end of one.',
  ),
  'UP-07': decision(
    'The client does not repeat a creation by itself. It does not repeat at once a call that was refused with 429.',
  ),
  'UP-13': decision('The client passes no header of an answer of the platform on to the browser.'),
  'UP-14': decision(
    'A 401 of the API leads to one renewal or to the login. A 403 leads to neither. Other refusals end on a page that says so.',
  ),
  'gateway-status': advice(
    'A failure of the platform is answered with 502, 503 or 504, so that 500 means a fault of the client.',
  ),
  'unknown-members': decision('Unknown members of an answer of the API are ignored.'),
  'stays-up': decision('Whatever arrives, the client answers with a page and keeps running.'),
} satisfies Record<string, Rule>

export const log = {
  'LG-01': decision('The log contains addresses without the code and other secrets of their query.'),
  'log-masked': asvs(
    '16.2.5',
    'Secrets are masked in the log.',
    "when logging sensitive data, the application enforces logging based on the data's protection level.",
  ),
  'bearer-not-leaked': rfc(
    6750,
    '5.3',
    'The log contains no access token.',
    'Client implementations MUST ensure that bearer tokens are not leaked to unintended parties',
  ),
  'SE-04': decision('Secrets are in no address, no log and no error page.'),
  'LG-02': decision('Errors are logged without the requests and answers that they carry.'),
  'LG-03': decision('No text of a request begins a line of the log.'),
  'LG-06': decision('The log contains neither session cookies nor names and texts of people.'),
} satisfies Record<string, Rule>
