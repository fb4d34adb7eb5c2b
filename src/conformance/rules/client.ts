// The rules for a client of the platform, in any language, by subject.
import { advice, asvs, decision, platform, type Rule, rfc, should } from './rule.ts'

export const start = {
  'CL-01': platform(
    'To start a login, the client redirects the browser to `{login_url}/`. The address of this redirect contains no secret.',
  ),
  'start-parameters': platform(
    'The redirect to the portal contains grant_type=authorization, response_type=code, client_id, redirect_uri and cancel_url.',
  ),
  'redirect-to-portal': should(platform('`GET /login` of the client redirects the browser to the portal.')),
  'redirect-uri-registered': platform('redirect_uri is an address that is registered with the application.'),
  'cancel-url-own': decision('cancel_url has the origin of a registered redirect URI.'),
  'cancel-url-page': platform('The client has a page at cancel_url for visitors who decline.'),
  'state-per-login': platform('Each login has a new state.'),
  'CL-02': rfc(
    6749,
    '10.12',
    'Nobody can guess a state.',
    'The binding value used for CSRF protection MUST contain a non-guessable value (as described in Section 10.10)',
  ),
  'state-128-bits': asvs(
    '11.5.1',
    'A state has at least 128 bits from a cryptographically secure random number generator. A UUID has fewer random bits.',
    'all random numbers and strings which are intended to be non-guessable must be generated using a cryptographically secure pseudo-random number generator (CSPRNG) and have at least 128 bits of entropy. Note that UUIDs do not respect this condition.',
  ),
  'oauth-parameters-once': rfc(
    6749,
    '3.1',
    'The redirect to the portal contains each parameter once.',
    'Request and response parameters MUST NOT be included more than once.',
  ),
  'no-extra-fields': decision(
    "If the metadata of the portal does not list S256, the client uses no PKCE, and sends only parameters that are in the platform's specification.",
  ),
  // Only advice: RFC 6749, 3.1 says "The authorization server MUST ignore unrecognized request parameters."
  'start-known-parameters': advice(
    'The redirect to the portal contains only parameters that are part of PKCE or of the specification of the platform. The portal ignores all other parameters.',
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
    'Each login has a new PKCE verifier, which is bound to the browser.',
    'In any case, the PKCE challenge or OpenID Connect nonce MUST be transaction-specific and securely bound to the client and the user agent in which the transaction was started.',
  ),
  'pkce-verifier': rfc(
    7636,
    '4.1',
    'A PKCE verifier has 43 to 128 characters.',
    'with a minimum length of 43 characters and a maximum length of 128 characters.',
  ),
  'CL-31': decision('The login path accepts only GET, so that a form on another site cannot start a login.'),
  'CL-32': should(
    decision(
      'The login path and the callback accept only requests that load a whole page. They refuse requests for frames, images, scripts and prefetches.',
    ),
  ),
  'CL-33': decision(
    'When a login cannot succeed, the client shows a page with the reason and does not redirect again and again.',
  ),
  'head-no-effect': should(
    rfc(
      9110,
      '9.2.1',
      'A HEAD request does not start a login and does not set a cookie.',
      'Of the request methods defined by this specification, the GET, HEAD, OPTIONS, and TRACE methods are defined to be safe.',
    ),
  ),
  'CL-06': decision('A visitor can finish several logins that run in one browser at the same time.'),
  'many-tabs': advice(
    'A browser can start many logins at once, for example when it restores its windows. The visitor can finish each of these logins.',
  ),
} satisfies Record<string, Rule>

export const loginCookie = {
  'CL-07': decision(
    'The cookies of unfinished logins are few and small, so that browsers keep all of them, and servers accept the requests that contain them.',
  ),
  'CL-08': decision('The cookie of a login is Secure, HttpOnly and SameSite=Lax, and has no Domain.'),
  'login-cookie-short': decision('The cookie of a login lives for ten minutes at most.'),
  'CL-24': should(
    decision(
      'The client binds a login to the portal, the client id and the redirect URI with which the login began. If one of these settings has changed, the client refuses the callback of an earlier login.',
    ),
  ),
} satisfies Record<string, Rule>

export const metadata = {
  'metadata-issuer': rfc(
    8414,
    '3.3',
    'The client uses metadata only if its issuer equals the address from which the client read it.',
    'If these values are not identical, the data contained in the response MUST NOT be used.',
  ),
  'metadata-optional': decision(
    'A login waits at most one second for the metadata of the portal, and works without the metadata.',
  ),
  'metadata-no-host': decision(
    'The metadata decides whether the client uses PKCE and revocation. The metadata never decides to which host the client sends a request or a visitor.',
  ),
  'revocation-listed': decision(
    'The client revokes tokens at the portal only if the metadata lists a revocation_endpoint.',
  ),
  'metadata-remembered': decision(
    'If the client cannot read the metadata for a while, the client still uses the features that the last metadata listed.',
  ),
  'metadata-kept': should(
    decision(
      'The client reads the metadata when it starts, and keeps it for an hour. A client that has no long-running process, for example in PHP, reads the metadata at the first login instead. If the client cannot read the metadata, it tries again at a later login or sign-out, after 30 seconds at the latest.',
    ),
  ),
  'iss-promised': should(
    rfc(
      9207,
      '2.4',
      'If the metadata promises iss, the client refuses a callback without iss.',
      "Clients MUST reject authorization responses without the iss parameter from authorization servers that do support the parameter according to the client's configuration.",
    ),
  ),
  'iss-not-promised': decision('If the metadata does not promise iss, the client accepts a callback without iss.'),
} satisfies Record<string, Rule>

export const callback = {
  'callback-code': platform('The client refuses a callback that has neither a code nor an error.'),
  'callback-required-parameters': should(platform('The client refuses a callback without code, subject or client_id.')),
  // RFC 9700, section 2.1, requires CL-03 and CL-05 only of clients without PKCE.
  'CL-03': decision(
    'A state is bound to the browser that started the login. The client refuses this state if it comes from another browser.',
  ),
  'CL-04': rfc(
    6749,
    '10.12',
    'The client checks the state of a callback before it sends a request to the portal. The client refuses a state that is missing, empty, repeated, wrong or expired.',
    'The client MUST implement CSRF protection for its redirection URI.',
  ),
  'CL-05': decision(
    'After a successful login, the state of this login is no longer valid. If a login has its own cookie, the answer to the callback deletes this cookie, whether the login succeeded or not.',
  ),
  'state-once-after-failure': should(
    rfc(
      9700,
      '4.2.4',
      'The client refuses the state of a failed login.',
      'The state value SHOULD be invalidated by the client after its first use at the redirection endpoint.',
    ),
  ),
  'CL-21': rfc(
    9700,
    '2.1',
    "The client refuses an attacker's callback in the browser of a visitor, even if the code and the state of this callback are valid in the attacker's browser.",
    'Clients MUST prevent Cross-Site Request Forgery (CSRF).',
  ),
  'code-once': rfc(
    6749,
    '4.1.2',
    'The client sends a code to the portal only once.',
    'The client MUST NOT use the authorization code more than once.',
  ),
  'CL-09': decision('The client refuses a callback in which the parameter code is repeated.'),
  'parameter-pollution': asvs(
    '15.3.7',
    'The client refuses a callback that contains any parameter of the platform more than once.',
    'the application has defenses against HTTP parameter pollution attacks',
  ),
  'CL-10': decision('The client refuses a callback whose client_id is not its own.'),
  'CL-11': platform(
    'The exchange contains the redirect_uri with which the login started, never the redirect_uri of the callback.',
  ),
  'CL-12': decision('The client never uses the subject of the callback as the identity of the user.'),
  'refused-callback': decision(
    'The client refuses a callback that belongs to no login of this browser, and keeps the session.',
  ),
  'CL-13': decision(
    'After a callback with an error, the client shows a page and makes no exchange. The page does not show long text from the address.',
  ),
  // Only a SHOULD: RFC 6749, 4.1.2 says "The client should avoid making assumptions about code value sizes".
  'CL-16': should(
    decision(
      'The client refuses a callback whose code or state is too long, or contains a character that never occurs in a code or state. Examples are a line break and a letter outside ASCII. After such a callback, the client sends no request.',
    ),
  ),
  'subject-length': advice('If the subject of a callback is too long, the client refuses the callback.'),
  'CL-23': should(
    rfc(
      9207,
      '2.4',
      'The client refuses a callback whose iss is not the issuer of the portal.',
      'If the value does not match the expected issuer identifier, clients MUST reject the authorization response',
    ),
  ),
  'unknown-parameters': rfc(
    6749,
    '4.1.2',
    'The client ignores unknown parameters of a callback.',
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
    'The login path and the callback refuse every method that they do not use.',
    'only HTTP methods that are explicitly supported by the application or its API (including OPTIONS during preflight requests) can be used and that unused methods are blocked.',
  ),
  'CL-25': rfc(
    9700,
    '4.11.1',
    'After a login, the client redirects only to its own pages.',
    'Clients MUST NOT expose open redirectors.',
  ),
  'return-to': advice('After a login, the client redirects to the page from which the login started.'),
  'return-after-failure': should(
    decision(
      'After a failed or cancelled login, the client offers a new login that ends at the page that the visitor wanted.',
    ),
  ),
  'header-injection': rfc(
    9110,
    '5.5',
    'A value in a request never adds a header to the answer.',
    'Field values containing CR, LF, or NUL characters are invalid and dangerous',
  ),
} satisfies Record<string, Rule>

export const callbackPage = {
  'login-works': platform(
    'After the callback the visitor is signed in, and calls to the API contain the access token.',
  ),
  'CL-26': decision(
    'The first page after a login shows the visitor as signed in, although browsers do not send Strict cookies after a redirect from another site.',
  ),
  'CL-27': decision(
    'The page at the callback sends no Referer, loads nothing from other sites, and contains neither code nor state.',
  ),
  'CL-28': decision(
    'After a login, the address bar and the history do not contain the code. Back and Reload do not repeat the callback.',
  ),
  'CL-29': decision(
    'When a browser sends a callback again, for example after a broken connection, the client answers with a page and keeps the session.',
  ),
  'resent-callback-signs-in': advice(
    'If the browser sends the callback twice, the visitor is signed in afterwards: the second answer does not delete or replace the session. A client may store the result of the callback to do this, but for at most ten seconds.',
  ),
  'resent-callback-one-exchange': should(
    rfc(
      6749,
      '4.1.2',
      'When a browser sends a callback several times at once, the client makes one exchange. This is only a SHOULD, because several processes cannot share an exchange without a shared store.',
      'The client MUST NOT use the authorization code more than once.',
    ),
  ),
  'no-store': asvs(
    '14.3.2',
    'No cache keeps an answer from the login path or the callback.',
    'the application sets sufficient anti-caching HTTP response header fields (i.e., Cache-Control: no-store) so that sensitive data is not cached in browsers.',
  ),
  'CK-17': decision('No cache may keep an answer that sets a login cookie or a session cookie.'),
} satisfies Record<string, Rule>

export const exchange = {
  'CL-14': platform(
    'The server of the client exchanges the code: `POST {login_url}/api/exchangeToken`, as a form with grant_type=authorization_code, code, client_id, client_secret, redirect_uri and state.',
  ),
  'CL-15': rfc(
    6749,
    '4.1.3',
    'The client encodes every value in the form of the exchange, so that no value can add a field.',
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
    'The client sends its secret in the body of a request, never in the address.',
    'The parameters can only be transmitted in the request-body and MUST NOT be included in the request URI.',
  ),
  'one-authentication': rfc(
    6749,
    '2.3',
    'The client authenticates with one method: the secret is in the body, and there is no Authorization header.',
    'The client MUST NOT use more than one authentication method in each request.',
  ),
  'secret-on-backend': platform('Only the server of the client uses the client secret.'),
  'UP-12': decision("The client does not send cookies or credentials of the visitor's browser to the platform."),
  'own-request-headers': advice(
    "The client's calls contain only the client's own headers, and no header of the visitor's browser.",
  ),
  'UP-15': decision('The client sends its secret only to the portal.'),
  'bearer-header': platform('Every call to the API contains `Authorization: Bearer` with the access token.'),
  'CK-08': rfc(
    6749,
    '10.3',
    'No page, script, address or readable cookie contains an access token.',
    'Access token credentials (as well as any confidential access token attributes) MUST be kept confidential in transit and storage',
  ),
  'CL-17': platform(
    'If the state in the token response is not the state of the login, the login fails and the client drops the tokens.',
  ),
  'CL-18': decision(
    'Before the client starts a session, it checks that access_token in the token response is a non-empty string that a header can contain.',
  ),
  'token-type-understood': rfc(
    6749,
    '7.1',
    'The client uses an access token only if its type is Bearer.',
    'The client MUST NOT use an access token if it does not understand the token type.',
  ),
  // Only a SHOULD: the RFC requires token_type of the portal, and does not say what a client does without it.
  'token-type-required': should(
    rfc(
      6749,
      '5.1',
      'The client refuses a token response without token_type.',
      'REQUIRED. The type of the token issued as described in Section 7.1.',
    ),
  ),
  'token-type-case': rfc(
    6749,
    '5.1',
    'The client compares token_type without regard to case.',
    'Value is case insensitive.',
  ),
  'unknown-response-members': rfc(
    6749,
    '5.1',
    'The client ignores unknown fields in a token response.',
    'The client MUST ignore unrecognized value names in the response.',
  ),
  'response-names-exact': should(
    decision(
      'The client distinguishes upper and lower case in the names of the fields of a token response, as JSON does.',
    ),
  ),
  'refresh-token-optional': rfc(
    6749,
    '5.1',
    'A login works without a refresh token.',
    'OPTIONAL. The refresh token, which can be used to obtain new access tokens using the same authorization grant',
  ),
  'doubled-names': should(
    decision('If a token response contains the same field twice, the client uses the last value, as JSON.parse does.'),
  ),
  'CL-19': decision(
    'If expires_in is not a finite number above 0, the login fails with a page, or the client uses a lifetime that its documentation names. No cookie gets a lifetime that browsers ignore or shorten.',
  ),
  // Only a SHOULD: in the specification of the platform, expires_in is an integer.
  'short-lifetime': should(
    decision(
      'If expires_in is above 0 and below 1, the client does not round it down to 0: the login works, or it fails with a page.',
    ),
  ),
  'token-is-opaque': should(
    decision('A login works with an access token that is not a JWT. The client sends the token to the API unchanged.'),
  ),
} satisfies Record<string, Rule>

export const cookies = {
  'CK-01': decision(
    'The cookie of a session is HttpOnly, Secure and SameSite, and has no Domain. If the cookie contains the access token, its Max-Age equals expires_in, but is at most 400 days.',
  ),
  'cookie-strict': should(platform('The cookie of a session is SameSite=Strict.')),
  'cookie-host-prefix': asvs(
    '3.3.3',
    'The name of a cookie begins with `__Host-`.',
    "cookies have the '__Host-' prefix for the cookie name unless they are explicitly designed to be shared with other hosts.",
  ),
  'CK-03': decision(
    'No cookie is larger than the 4,096 bytes that browsers keep. The client splits a larger session into several cookies, or refuses the login with a page.',
  ),
  'CK-04': decision(
    'All cookies of the client together fit into one request, and leave room for the cookies of other programs on the host.',
  ),
  'few-small-cookies': should(
    rfc(
      6265,
      '6.1',
      'The client sets only a few small cookies.',
      'Servers SHOULD use as few and as small cookies as possible to avoid reaching these implementation limits',
    ),
  ),
  'CK-05': decision('Nobody can read or change the data of a session in a cookie.'),
  'session-unguessable': decision(
    'Nobody can guess the value of a session cookie. OWASP ASVS 5.0, V7.2.3, recommends 128 random bits.',
  ),
  'CK-06': decision('The client accepts a sealed value only for the purpose for which it sealed this value.'),
  'CK-07': decision(
    'The client itself checks whether a session has expired. The client does not rely on the Max-Age of the cookie.',
  ),
  'CK-10': decision('Cookies that are unknown, malformed, repeated or from another program never cause status 500.'),
  'CK-12': decision(
    'Every replica of the client can answer every request of a login or a session, even if another replica answered the earlier requests.',
  ),
  'survives-restart': should(decision('Sessions and unfinished logins survive a restart of the client.')),
  'CL-20': decision(
    'A login replaces an earlier session. The new session never uses a value that was in the browser before the login.',
  ),
  'CK-18': should(
    decision(
      'The client sets a session cookie only in an answer that changes the session, so that a slow answer does not overwrite a newer session.',
    ),
  ),
  'visitors-apart': platform('The access token identifies the user. Each visitor sees only their own data.'),
  'next-visitor': decision(
    'The client never shows data of an earlier visitor to the next visitor, in the same browser or in another browser: no secret, no text from a form, and no name.',
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
    'The client sends a renewal as a form.',
    'the client makes a refresh request to the token endpoint by adding the following parameters using the "application/x-www-form-urlencoded" format per Appendix B',
  ),
  'renewal-not-repeated': decision(
    'The client does not repeat a POST automatically: no exchange, no renewal and no creation. There is one exception: if the API refuses a call with 401, the client may repeat this call once, after a renewal.',
  ),
  'RF-02': decision('Simultaneous renewals with the same refresh token do not sign the visitor out.'),
  'RF-03': should(decision('Requests that arrive at the same time share one renewal.')),
  'RF-04': decision(
    'When two replicas renew at the same time, the replica whose renewal is refused does not delete the cookies that the other replica has set.',
  ),
  'lost-renewal': should(
    decision(
      'If the portal refuses the renewal of one replica because another replica has just renewed the session, the visitor stays signed in.',
    ),
  ),
  'RF-05': decision(
    'If the portal refuses a renewal with invalid_grant, the session ends, except in the case of `lost-renewal`. After any other failure of a renewal, the session continues, except in the cases of `refused-for-good` and `no-renewals`.',
  ),
  'refused-for-good': decision(
    'If the portal refuses a renewal with unsupported_grant_type or unauthorized_client, the session ends, as after invalid_grant.',
  ),
  'no-renewals': should(
    decision(
      'A portal that answers a renewal with status 404, 405 or 501 offers no renewals. The session then ends, at the latest when the access token expires.',
    ),
  ),
  'RF-08': decision(
    'If the answer to a renewal contains no refresh token, the client keeps the old refresh token. The answer to a renewal needs no state.',
  ),
  'refresh-token-replaced': rfc(
    6749,
    '6',
    'A new refresh token replaces the old refresh token.',
    'the client MUST discard the old refresh token and replace it with the new refresh token.',
  ),
  'renewal-of-one-session': should(
    decision(
      'If one user has several sessions, each session has its own tokens. A renewal in one session does not change the tokens of another session.',
    ),
  ),
  'RF-09': decision(
    'If the client keeps the tokens in cookies, the answer to the request that caused the renewal sets the cookies with the new tokens.',
  ),
  'RF-10': decision(
    'The client renews a session only when the access token expires. Even if tokens are valid only for a short time, the client does not renew the session at every request.',
  ),
  'CK-09': decision(
    'If a cookie contains the refresh token, this cookie is separate from the session cookie, and lives longer than the access token.',
  ),
  'refresh-cookie-end': decision(
    'A renewal does not extend the lifetime of the cookie that contains the refresh token.',
  ),
  'way-out-after-failed-renewal': should(
    decision(
      'If renewals fail for a while, the visitor can sign in again or sign out: the error page offers one of the two, and the login path leads to the portal.',
    ),
  ),
  'way-out-after-refusal': should(
    decision(
      'If the API refuses every access token of a session, the visitor can sign in again: the client offers the login, and the login path leads to the portal.',
    ),
  ),
  'token-ends-early': decision(
    'After a 401 answer from the API, the client renews once or offers the login, even if the access token should still be valid according to expires_in.',
  ),
} satisfies Record<string, Rule>

export const signOut = {
  'late-renewal': should(
    decision(
      'If a visitor signs out while a page renews the session, or has renewed it and waits for the API, the visitor stays signed out.',
    ),
  ),
  'CK-13': decision(
    'Signing out ends the session at once, even if the portal refuses the revocation or does not answer. After signing out, the Back button shows no page of this session.',
  ),
  'session-ended-for-all': asvs(
    '7.4.1',
    'After signing out, nobody can use a copy of the cookies at the client.',
    'when session termination is triggered (such as logout or expiration), the application disallows any further use of the session.',
  ),
  'CK-15': decision(
    'If sign-out revokes tokens, it makes every token of the session invalid, so that nobody can use tokens from a copy of the cookies. The client sends the newest token, even if the access token has expired or another replica handled the login.',
  ),
  'RF-11': should(
    rfc(
      7009,
      '1',
      'If the portal offers revocation, signing out revokes the refresh token. The visitor does not wait for the portal.',
      'This revocation mechanism allows a client to invalidate its tokens if the end-user logs out',
    ),
  ),
  'revoke-access-token': should(decision('Signing out revokes the access token if there is no refresh token.')),
  'PG-04': rfc(
    9110,
    '9.2.1',
    'A GET request never signs anybody out, and never creates, changes or deletes anything.',
    'If the purpose of such a resource is to perform an unsafe action, then the resource owner MUST disable or disallow that action when it is accessed using a safe request method.',
  ),
  'PG-01': decision(
    'The client changes something only when it gets a POST request from one of its own pages. It refuses a POST request from anywhere else.',
  ),
  'post-from-nowhere': decision('The client refuses a POST that has neither Sec-Fetch-Site nor Origin.'),
  'logout-not-silent': should(
    decision('After signing out, a visitor is signed in again only if the visitor asks for it.'),
  ),
  'CK-14': decision(
    'When a visitor signs out, the client deletes only cookies that it has set itself. If the client and the portal have the same host or domain, the client sends no `Clear-Site-Data: "cookies"`, because this header would delete the cookies of the portal, too.',
  ),
  'clear-site-data': advice(
    'Signing out sends no `Clear-Site-Data: "cookies"`, because this header also deletes the cookies of every other host of the domain.',
  ),
  'logout-says-so': advice(
    'After signing out, the visitor sees a page that says that the session has ended. A page that contains only a login form is not enough.',
  ),
  'portal-sign-out-link': should(
    decision("The client links to the portal's sign-out only if the metadata lists end_session_endpoint."),
  ),
} satisfies Record<string, Rule>

export const name = {
  'name-is-optional': should(decision('A login works when the portal does not send the name of the visitor.')),
  'name-once': should(
    decision("After a login, the client asks the portal once for the visitor's name, and waits at most one second."),
  ),
} satisfies Record<string, Rule>

export const applications = {
  'create-application': platform(
    '`POST /apps/v1` creates an application, and returns the application with its OAuth client.',
  ),
  'create-envelope': should(
    platform(
      'The body of the request that creates an application is an envelope with the fields `context`, `type` and `data`.',
    ),
  ),
  'secret-shown': should(
    decision('The client shows the secret of a new application once, to the visitor who created it.'),
  ),
  'PG-15': decision('One form creates one application, however often the browser sends this form.'),
  'form-once-after-restart': should(
    decision('A form creates only one application, even if the client restarts before the form arrives again.'),
  ),
  'secret-once': should(
    decision('One form for a new client secret creates one secret, however often the browser sends this form.'),
  ),
  'PG-14': decision(
    'When a form arrives after the session has ended, the client creates nothing and tells the visitor that nothing was created.',
  ),
  'draft-once': should(decision('If the client keeps a form during a login, it shows the typed text only once.')),
  'sign-in-leads-back': should(
    decision(
      'If a form arrives after the session has ended and the client keeps the typed text, the sign-in link leads back to this text, or opens in a new tab.',
    ),
  ),
  'PG-16': decision('When a visitor reloads the page after a successful form, nothing is created or changed again.'),
  // Only a SHOULD: a client that shows a new secret in the answer to the form need not keep this secret anywhere.
  'redirect-after-form': should(decision('The client answers a successful form with a redirect, not with a page.')),
  'form-kept': should(decision('The client shows a refused form again with the typed values.')),
  'forms-work': decision(
    'While the platform works, the client answers its own form without a server error, and the API accepts the call.',
  ),
  'change-application': decision(
    'When a visitor sends the edit form, the client makes an API call that changes the application. The call contains all redirect URIs of the form, and the default redirect URI that the visitor chose.',
  ),
  'edit-overtaken': decision(
    'A form changes an application only if nobody has changed this application since the form was opened. Otherwise the client changes nothing.',
  ),
  'overtaken-values-shown': should(
    decision(
      'If the client refuses a form because the application has changed, the page shows the typed values and the values that the API has now.',
    ),
  ),
  'unshown-values-kept': decision(
    'If the API leaves out a value of an application, the edit form does not change this value, unless the visitor types a new value.',
  ),
  'emptied-fields': should(
    decision(
      'If a visitor clears an optional field in the edit form, this field is empty at the API, or the client refuses the form.',
    ),
  ),
  'own-forms': decision('The client accepts its own form from a browser that sends Origin but no Sec-Fetch-Site.'),
  'form-of-its-visitor': decision('The client accepts a form only from the visitor who opened it.'),
  'PG-17': decision('A form has the same limits as the API, and the server of the client checks these limits.'),
  'PG-23': decision(
    'If an address of the client contains an id, the client checks and encodes the id before using it in an API address.',
  ),
  'group-by-hand': should(
    decision('If the client cannot list the groups of the visitor, the form has a field for the id of a group.'),
  ),
  'own-group-preselected': should(
    decision('If the form for a new application preselects a group, the visitor has created this group.'),
  ),
  'whole-list': should(decision('Each application of the visitor is in the list, or on one of the pages of the list.')),
  'long-list': advice('The client shows a list of 2,000 applications. The platform sets no limit for the list.'),
  'allow-header': rfc(
    9110,
    '15.5.6',
    'Every answer with status 405 has an Allow header.',
    "The origin server MUST generate an Allow header field in a 405 response containing a list of the target resource's currently supported methods.",
  ),
  'not-found': should(
    rfc(
      9110,
      '15.5.5',
      'The client answers an unknown address with status 404.',
      'The 404 (Not Found) status code indicates that the origin server did not find a current representation for the target resource',
    ),
  ),
} satisfies Record<string, Rule>

export const pages = {
  'PG-02': decision('The client takes its own address from its configuration, never from Host or a forwarded header.'),
  'own-redirects': advice("A redirect within the client is relative, or begins with the client's own address."),
  'PG-05': decision('Neither the pages nor the server of the client load addresses that users typed.'),
  'PG-06': decision('An address that a user typed becomes a link only if it is http or https.'),
  'id-in-link': should(decision('A link contains an id as one encoded path segment or one encoded query value.')),
  'links-apart': advice(
    "If the client shows a link to an address that another user typed, the opened page has no access to the client's page.",
  ),
  'PG-07': decision('Every value is escaped for its place on the page.'),
  'scripts-without-errors': advice(
    'Pages cause no script errors, and do not try to load anything that their Content-Security-Policy forbids.',
  ),
  'PG-08': decision('Other sites cannot show a page of the client in a frame.'),
  'PG-03': decision(
    'A page with a form has no `Referrer-Policy: no-referrer`, so that the browser sends Origin with the form.',
  ),
  'PG-09': decision(
    'Every page has a content type. If the page behind the login has security headers, every page and every error page has these headers. If the client can set headers for requests that the HTTP parser refuses, all answers to such requests have these headers.',
  ),
  'PG-10': decision(
    'If a client on https sends HSTS, the header applies for at least one year, and only to the host of the client.',
  ),
  hsts: asvs(
    '3.4.1',
    'A client on https sends HSTS with every answer.',
    'a Strict-Transport-Security header field is included on all responses to enforce an HTTP Strict Transport Security (HSTS) policy.',
  ),
  nosniff: asvs(
    '3.4.4',
    'Every answer has `X-Content-Type-Options: nosniff`, including files, redirects and answers from the HTTP parser.',
    "all HTTP responses contain an 'X-Content-Type-Options: nosniff' header field.",
  ),
  'parser-nosniff': advice(
    'If the HTTP parser refuses a request, the answer has `X-Content-Type-Options: nosniff`, too.',
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
  'PG-11': decision("Pages with a visitor's data have `Cache-Control: no-store`."),
  'PG-12': decision('If a signed-in visitor follows a link from another site, the client shows the page.'),
  'link-query': should(
    decision(
      'If a signed-in visitor follows a link from another site, the client keeps the query of the link. This rule is only for clients with a search, and for clients that return the visitor to the page with its query after a login.',
    ),
  ),
  'PG-13': decision(
    'The client looks for the session cookie first. It checks whether the request comes from another site only if this cookie is missing.',
  ),
  'PG-18': decision(
    'If a form has a content type other than application/x-www-form-urlencoded, multipart/form-data and JSON, the client refuses the form. For example, the client refuses text/plain.',
  ),
  'form-type-only': should(
    decision(
      'The client refuses a form that is sent as multipart/form-data, as JSON, or with any other content type that the forms of the client do not use.',
    ),
  ),
  'PG-19': decision('The client allows no other origin to read its pages (CORS).'),
  'PG-20': decision(
    "Error pages show no stack, file path, internal address or token, and no error message that came from the platform. There is one exception: if the API refuses a form with 400, 403, 404, 409 or 422, the answer to this form may show the API's message.",
  ),
  'generic-errors': asvs(
    '16.5.1',
    'Error pages contain only general messages. They show no message from a library, and no error code from the portal.',
    'a generic message is returned to the consumer when an unexpected or security-sensitive error occurs',
  ),
  'PG-21': asvs(
    '7.4.4',
    'Every page for signed-in visitors has a button or a link to sign out, except the page at the callback.',
    'all pages that require authentication have easy and visible access to logout functionality.',
  ),
  'PG-22': should(decision('Pages load no scripts, styles or fonts from third parties.')),
  'versioned-files': should(
    decision(
      'If browsers may use a style sheet or script for more than a week without asking the server, its address changes with its content.',
    ),
  ),
  'bad-request-status': advice(
    'The client answers an invalid request with a status from 400 to 499, so that 500 always means a mistake in the client (RFC 9110, 15.5).',
  ),
  'short-checks': decision('The client checks every value of a request in a short time, whatever the value is.'),
  'bounded-bodies': should(
    decision('The client reads the body of a request up to a limit, and refuses longer bodies.'),
  ),
  'bounded-headers': decision(
    'The client reads the headers of a request up to a limit below 1.5 MB, and refuses longer headers.',
  ),
  'one-content-length': rfc(
    9112,
    '6.3',
    'The client refuses a request with two different Content-Length headers.',
    'If a message is received without Transfer-Encoding and with an invalid Content-Length header field, then the message framing is invalid and the recipient MUST treat it as an unrecoverable error',
  ),
  'no-space-before-colon': rfc(
    9112,
    '5.1',
    'The client refuses a request with a space between the name of a header and the colon.',
    'A server MUST reject, with a response status code of 400 (Bad Request), any received request message that contains whitespace between a header field name and colon.',
  ),
  'no-server-version': decision('No answer names the version of the server or of a framework.'),
  'DO-10': should(
    decision(
      'If a visitor does not finish a login, the client and the portal soon free the memory, the connections and the records of that login.',
    ),
  ),
  'head-as-get': should(
    decision(
      'On public pages that renew no tokens, the client answers HEAD like GET, without a body. On all other pages, the client answers HEAD with 405.',
    ),
  ),
} satisfies Record<string, Rule>

export const failures = {
  'UP-01': decision(
    'A value in a request never determines a parameter of the redirect to the portal, or a host that the client calls.',
  ),
  'UP-02': decision('The client does not follow redirects when it calls the portal or the API.'),
  'UP-03': decision(
    'Every call to the platform has a deadline, which includes the time for the whole body of the answer.',
  ),
  'UP-04': decision(
    'The client reads an answer from the platform only up to a limit. If the answer is compressed, the limit applies to the unpacked bytes.',
  ),
  'bounded-answers': should(decision('When an answer is larger than the limit, the client closes the connection.')),
  'UP-06': decision(
    'When a call to the platform fails, or the answer is malformed, the client shows a page that says so. The client does not crash, and does not create or end a session.',
  ),
  'UP-07': decision(
    'The client does not repeat a creation automatically. There is one exception: after a 401 answer, the client may renew the session and send the creation once more. After a 429 answer, the client does not repeat the call immediately.',
  ),
  'UP-13': decision(
    'The client’s answers to the browser contain no headers that it copied from the platform’s answers.',
  ),
  'UP-14': decision(
    'After a 401 answer from the API, the client renews once or offers the login. After a 403 answer, the client does not renew and does not offer the login. After any other refusal, the client shows a page that says so.',
  ),
  'UP-16': should(decision('When the platform closes an idle connection, no page shows an error.')),
  'gateway-status': advice(
    'The client answers with 502, 503 or 504 when the platform fails, so that 500 always means a mistake in the client.',
  ),
  'DO-14': decision(
    'A page causes at most two calls to the platform, including a renewal. A form causes at most two calls to the API, and a renewal if a renewal is due. A login makes one exchange and at most two other calls to the portal. The page about the platform lists the exceptions.',
  ),
  'missing-values': should(
    decision(
      "If a value is missing from the platform's answer, or has the wrong type, no page shows a word such as `undefined`, `null` or `NaN` in its place.",
    ),
  ),
  'unknown-members': decision('The client ignores unknown fields in an answer from the API.'),
  'stays-up': decision('The client answers every request with a page and keeps running.'),
} satisfies Record<string, Rule>

export const log = {
  'LG-01': decision(
    'The log contains no code and no state. If the client logs an address, it leaves out the secrets in the query of this address.',
  ),
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
  'SE-04': decision('Addresses, logs and error pages contain no secrets.'),
  'LG-02': decision('When the client logs an error, it leaves out any request or answer that the error contains.'),
  'LG-03': decision('A line break in a request never starts a new line in the log.'),
  'LG-06': decision('The log contains no session cookies, no names of people, and no text that people typed.'),
} satisfies Record<string, Rule>
