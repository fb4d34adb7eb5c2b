// The rules for the platform: what a client may rely on at the portal and the API. The sandbox follows these rules.
import { decision, platform, type Rule, rfc, should } from './rule.ts'

export const portalStart = {
  'AZ-01': rfc(
    6749,
    '4.1.2.1',
    'If client_id is unknown or redirect_uri is not registered, the portal shows an error page with status 400 and never redirects.',
  ),
  'AZ-02': rfc(9700, '4.1.3', 'The portal compares redirect_uri byte by byte with the registered addresses.'),
  'AZ-03': rfc(
    6749,
    '4.1.2.1',
    'For any other mistake in the login request, the portal sends the visitor to redirect_uri with error, error_description and state. If the visitor is signed in and has allowed the application, the portal redirects the browser. Otherwise the portal shows a page with a link.',
  ),
  'AZ-04': platform(
    'In the login request, grant_type must be `authorization` and response_type must be `code`. The portal refuses other values.',
  ),
  'AZ-05': rfc(
    6749,
    '3.1',
    'If client_id or redirect_uri is repeated, the portal shows an error page. Any other repeated parameter is a mistake in the login request (AZ-03). The portal ignores unknown parameters, and treats an empty parameter as missing.',
  ),
  'AZ-06': decision(
    'The login request needs a cancel_url with the origin of a registered redirect URI. If the origin differs or the cancel_url is missing, the portal refuses the request and never uses the cancel_url (AZ-03).',
  ),
  'AZ-07': rfc(9700, '4.11.2', 'The portal does not redirect visitors to a client before they have signed in.'),
  'AZ-08': rfc(
    6749,
    '4.1.2',
    'The portal returns state unchanged, byte for byte. A state has at most 2,048 bytes in UTF-8.',
  ),
  'AZ-09': platform(
    'The redirect contains code, redirect_uri, subject and client_id. If the login request had a state, the redirect also contains the state. The sandbox adds iss. The redirect keeps the query of the registered redirect URI.',
  ),
  'AZ-10': rfc(
    6749,
    '4.1.2',
    'A code consists of 30 random letters and digits, and is bound to its client, redirect URI, state and user. The portal stores only the hash of the code.',
  ),
  'AZ-11': decision(
    "The consent page shows which application asks for access, and what access it asks for. The visitor's decision is valid only once, and only for the request that this page shows.",
  ),
  'AZ-12': platform(
    'When a visitor declines, the portal redirects to cancel_url without a code. The sandbox adds error=access_denied and state.',
  ),
  'AZ-13': rfc(
    9700,
    '2.6',
    'The portal starts a login with a GET request. It answers a POST request with a redirect to the same login request, which the browser then sends as GET. The portal refuses all other methods. It does not allow other origins to read its answers (CORS).',
  ),
  'AZ-15': should(rfc(8414, '3', 'The portal publishes metadata at `/.well-known/oauth-authorization-server`.')),
  'AZ-16': decision(
    'When a visitor sends an expired or used form of the portal, the portal shows a page with a link to start again.',
  ),
  'calls-without-browser': decision(
    'A script can register a user, allow an application and sign in without a browser: `/api/register`, `/api/authorizeApplication` and `/api/authorize`.',
  ),
} satisfies Record<string, Rule>

export const portalExchange = {
  'TK-01': rfc(
    6749,
    '3.2',
    'The token endpoint accepts POST with a form or a JSON body, and refuses parameters in the query string.',
  ),
  'TK-02': platform(
    'The token endpoint sends errors as JSON with error and error_description. invalid_client and invalid_grant have status 401. All other errors about a field of the request have status 400. No answer contains WWW-Authenticate.',
  ),
  'TK-03': rfc(6749, '5.1', 'No cache keeps an answer from the token endpoint, not even an error.'),
  'TK-04': decision(
    'If a client has sent ten wrong secrets within 15 minutes, the token endpoint answers further wrong secrets with 429.',
  ),
  'TK-05': rfc(6749, '2.3', 'The token endpoint refuses a request that authenticates the client with two methods.'),
  'TK-06': rfc(6749, '4.1.3', 'A code is valid only for the client that got it.'),
  'TK-07': platform('The exchange must contain the redirect_uri of the login request.'),
  'TK-08': platform(
    'If the login request had a state, the exchange must contain the same state. The answer then contains the state again.',
  ),
  'TK-09': rfc(
    6749,
    '4.1.2',
    'If a client exchanges one code several times at the same time, exactly one exchange succeeds.',
  ),
  'TK-10': rfc(
    6749,
    '4.1.2',
    'If a code is used again after more than ten seconds, the portal revokes the tokens of the first exchange. If the same exchange is repeated within ten seconds, the portal refuses it, but does not revoke the tokens.',
  ),
  'TK-11': rfc(6749, '4.1.2', 'A code expires after 60 seconds.'),
  'TK-12': rfc(
    7636,
    '4.6',
    'If the login request had a PKCE challenge, the exchange must contain the right verifier. The portal refuses a verifier if the login request had no challenge. It also refuses the PKCE method plain.',
  ),
  'TK-13': platform(
    'The token response has access_token, expires_in, token_type `Bearer`, refresh_token and state. The sandbox adds an empty scope.',
  ),
  'TK-14': rfc(
    9068,
    '2',
    'An access token is a signed JWT with iss, sub, aud, iat, exp, jti and type. The access token contains no personal data.',
  ),
  'TK-15': rfc(9700, '2.6', 'No other origin may read an answer from the token endpoint (CORS).'),
  'TK-16': decision(
    'After a crash in the middle of an exchange, either the client has the tokens, or no usable tokens exist.',
  ),
} satisfies Record<string, Rule>

export const portalRenewal = {
  'RF-06': rfc(
    9700,
    '4.14.2',
    'Each renewal replaces the refresh token. If a client uses the replaced token again within ten seconds, and before the next renewal, the portal answers with the same new token. If a client uses a replaced token later, the portal ends the grant. The portal remembers the last 100 replaced tokens of a grant.',
  ),
  'RF-07': rfc(9700, '4.14.2', 'A refresh token expires after 14 days without use, and a grant ends after 90 days.'),
  'RF-12': rfc(
    9700,
    '4.14.2',
    'When a user sets a new password or signs out everywhere, the refresh tokens of the user become invalid.',
  ),
  'limit-renewals': decision(
    'A client can renew the tokens of a grant 60 times per minute. The portal answers further renewals with 429.',
  ),
} satisfies Record<string, Rule>

export const revocation = {
  'revoke-call': rfc(
    7009,
    '2',
    '`POST /api/revokeToken` with token, client_id and client_secret ends the grant to which the token belongs, with all tokens of this grant. If the token is unknown, or is an access token that has expired, the portal answers 200 and ends no grant.',
  ),
} satisfies Record<string, Rule>

export const person = {
  'name-call': platform(
    '`GET /api/me` with an access token returns the id, e-mail address, first name and last name of the user. Without a valid token the answer is 403.',
  ),
  'portal-token': platform(
    "The portal's own page issues an access token for the API to a signed-in user. The page shows this token once, and the token is valid for 24 hours.",
  ),
} satisfies Record<string, Rule>

export const api = {
  'api-operations': platform(
    'The API lists, creates, reads, changes and removes applications, and makes new client secrets.',
  ),
  'api-create': platform(
    'The answer to a creation contains the application, its client with the secret, and two app access tokens. No other answer contains this secret or these tokens.',
  ),
  'api-envelope': platform(
    'The body of a creation or a change is the envelope, or only the data object of the envelope.',
  ),
  'api-fields': platform(
    'A creation needs name, redirectUris and groupId. Five more text fields are required but may be empty. defaultRedirectUri is optional.',
  ),
  'api-errors': platform(
    'The API refuses a call with `{"error":{"status","message"}}`. If the status is 422, the message names all wrong fields.',
  ),
  'api-update': platform(
    'A change needs name and redirectUris. If another field is missing, its value stays the same. The group cannot change.',
  ),
  'api-etag': rfc(
    9110,
    '13.1.1',
    'When the API creates or reads one application, the answer has a strong ETag. If the If-Match of a change or removal names another version, the API refuses the call with 412.',
  ),
  'api-developers': decision("Every member of an application's group is a developer of the application."),
  'api-app-token': decision(
    'With an app access token, a client can read its own application, and the list contains only this application. The API refuses every other call.',
  ),
  'api-descriptions': platform('The API serves its description as OpenAPI and as RAML, without a token.'),
  'AP-01': rfc(
    6750,
    '3.1',
    'The API answers a call without a valid token with 401 and WWW-Authenticate. WWW-Authenticate contains an error code only if the call had a token.',
  ),
  'AP-02': rfc(
    6750,
    '2',
    'The API accepts a token only in the Authorization header. The API compares the scheme without regard to case.',
  ),
  'AP-03': rfc(
    9068,
    '4',
    'The API checks algorithm, signature, type, issuer, audience and times of a token, and trusts only the signing keys of the platform.',
  ),
  'AP-04': platform(
    'If the caller is not in the group of an application, the API answers 404 to a read and 403 to a change.',
  ),
  'AP-05': platform(
    'The API checks that the caller is a member of the group at the moment when it writes the application.',
  ),
  'AP-06': decision('The API ignores unknown fields, and fields that only the API itself may set.'),
  'AP-07': decision('The API refuses a value of the wrong type with 422, and never converts it.'),
  'AP-08': rfc(
    6749,
    '3.1.2',
    'A redirect URI is absolute, has no fragment, user or wildcard, and has at most 2,048 characters.',
  ),
  'AZ-14': rfc(9700, '2.6', 'A redirect URI is https, or http on a loopback address.'),
  'AP-09': decision('The other addresses of an application are http or https. The API never loads them.'),
  'AP-10': decision('The API refuses a body with `__proto__` or `constructor.prototype`.'),
  'AP-11': decision(
    'The API checks an id in an address before it asks the database. If an id has a wrong format, the answer is the same as for an unknown id.',
  ),
  'AP-12': decision('The API accepts only JSON bodies, and answers other content types with 415.'),
  'AP-13': platform(
    'The list is a collection. It contains the applications of the caller, and no applications of other users.',
  ),
  'AP-14': decision(
    'If a creation fails, there is no application, no client and no secret. If it succeeds, all three exist.',
  ),
  'AP-16': decision(
    'When several changes arrive at the same time, no change with If-Match is lost. When several secrets are made at the same time, the two latest secrets stay valid.',
  ),
  'AP-17': decision(
    'The API stores and returns every string exactly as it was sent. The list of redirect URIs is an exception: the API removes repeated addresses, and spaces around an address.',
  ),
  'AP-18': decision('When an application is removed, its codes, secrets and tokens become invalid at once.'),
  'AP-19': rfc(9700, '4.15', 'The API chooses the ids of clients, and never uses the id of a user.'),
  'AP-20': rfc(9110, '15.5.6', 'The API answers an unsupported method with 405 or 404. HEAD has no body.'),
  'SE-02': platform('The two latest secrets of a client are valid. A third secret replaces the oldest secret.'),
  'SE-05': platform('The API returns app access tokens once, in the answer to the creation.'),
} satisfies Record<string, Rule>

export const groups = {
  'groups-create': platform('`POST /identities/v1` creates a group. The creator is immediately a member.'),
  'groups-list': decision(
    '`GET /identities/v1/{user_id}/links?type=MemberOf` lists the groups of the caller with their names. Groups that the caller created come first.',
  ),
  'groups-invite': decision(
    "A user becomes a member of a group only after accepting an invitation. Before that, the invitation gives this user no rights, and shows nobody the user's data.",
  ),
  'groups-leave': decision(
    'A member can leave a group, and the creator of the group can remove members. The last member cannot leave a group that has applications.',
  ),
  'groups-portal-token': platform("Only an access token from the portal's own page changes who is in a group."),
} satisfies Record<string, Rule>

export const limits = {
  'limit-groups': decision('A user can be a member of at most 20 groups.'),
  'limit-applications': decision(
    'A group has at most 100 applications. The fields of all applications in a group together take up at most 256 KiB as JSON.',
  ),
  'limit-invitations': decision(
    'A group has at most 20 open invitations. In all groups together, a user can invite the same person at most 20 times a day.',
  ),
  'limit-grants': decision(
    'A user has at most 100 grants for one client. If there are 100 grants, a new login ends the oldest grant.',
  ),
  'limit-sign-ups': decision('At most 100 users can sign up from one IP address per hour.'),
} satisfies Record<string, Rule>
