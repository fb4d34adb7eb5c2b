// The rules for the platform: what a client may rely on at the portal and the API. The sandbox keeps them.
import { decision, platform, type Rule, rfc, should } from './rule.ts'

export const portalStart = {
  'AZ-01': rfc(
    6749,
    '4.1.2.1',
    'An unknown client_id, or a redirect_uri that is not registered, leads to an error page with status 400, and never to a redirect.',
  ),
  'AZ-02': rfc(9700, '4.1.3', 'The portal compares redirect_uri byte by byte with the registered addresses.'),
  'AZ-03': rfc(
    6749,
    '4.1.2.1',
    'Any other fault of the start goes back to redirect_uri with error, error_description and state: at once if the visitor is signed in and has allowed the application, otherwise through a plain link on a page.',
  ),
  'AZ-04': platform(
    'At the start grant_type is `authorization` and response_type is `code`. Other values are refused.',
  ),
  'AZ-05': rfc(
    6749,
    '3.1',
    'A repeated parameter leads to an error page. Unknown parameters are ignored. An empty one counts as left out.',
  ),
  'AZ-06': decision(
    'The start needs a cancel_url with the origin of a registered redirect URI. Otherwise the portal shows an error page.',
  ),
  'AZ-07': rfc(
    9700,
    '4.11.2',
    'The portal sends no visitor on to a client by itself before the visitor has signed in.',
  ),
  'AZ-08': rfc(6749, '4.1.2', 'The portal returns state byte by byte. A state has at most 2,048 characters.'),
  'AZ-09': platform(
    'The redirect carries code, redirect_uri, subject and client_id, and state if the start had one. The sandbox adds iss. The query of a registered redirect URI stays.',
  ),
  'AZ-10': rfc(
    6749,
    '4.1.2',
    'A code is 30 random letters and digits, bound to its client, redirect URI, state and user. The portal stores only its hash.',
  ),
  'AZ-11': decision(
    'The consent page says who asks and for what. Its answer counts once, and only for the request that the page was shown for.',
  ),
  'AZ-12': platform('Declining leads to cancel_url without a code. The sandbox adds error=access_denied and state.'),
  'AZ-13': rfc(9700, '2.6', 'The start takes only GET, and no other origin may read its answer (CORS).'),
  'AZ-15': should(rfc(8414, '3', 'The portal publishes metadata at `/.well-known/oauth-authorization-server`.')),
  'AZ-16': decision('A form of the portal that has expired or was answered leads to a page that offers a new start.'),
  'calls-without-browser': platform(
    'A script can register a user, allow an application and sign in without a browser: `/api/register`, `/api/authorizeApplication` and `/api/authorize`.',
  ),
} satisfies Record<string, Rule>

export const portalExchange = {
  'TK-01': rfc(
    6749,
    '3.2',
    'The token endpoint takes POST with a form or a JSON body. Fields in the address are refused.',
  ),
  'TK-02': platform(
    'Errors of the token endpoint are JSON with error and error_description. invalid_client and invalid_grant have status 401, the others 400.',
  ),
  'TK-03': rfc(6749, '5.1', 'No cache keeps an answer of the token endpoint, errors included.'),
  'TK-04': decision('After ten wrong secrets within 15 minutes a client gets 429.'),
  'TK-05': rfc(6749, '2.3', 'A request that authenticates in two ways is refused.'),
  'TK-06': rfc(6749, '4.1.3', 'A code counts only for the client that it was given to.'),
  'TK-07': platform('The exchange needs the redirect_uri of the start.'),
  'TK-08': platform('If the start had a state, the exchange needs the same one. The answer repeats it.'),
  'TK-09': rfc(6749, '4.1.2', 'Of several exchanges of one code at the same time exactly one succeeds.'),
  'TK-10': rfc(
    6749,
    '4.1.2',
    'A code that is used again after more than ten seconds ends the tokens that it gave. Within ten seconds it is refused and ends nothing.',
  ),
  'TK-11': rfc(6749, '4.1.2', 'A code expires after 60 seconds.'),
  'TK-12': rfc(
    7636,
    '4.6',
    'A start with a PKCE challenge needs the right verifier at the exchange. A verifier without a challenge, and the method plain, are refused.',
  ),
  'TK-13': platform(
    'The token response has access_token, expires_in, token_type `Bearer`, refresh_token and state. The sandbox adds an empty scope.',
  ),
  'TK-14': rfc(
    9068,
    '2',
    'An access token is a signed JWT with iss, sub, aud, iat, exp, jti and type. It holds no personal data.',
  ),
  'TK-15': rfc(9700, '2.6', 'No other origin may read an answer of the token endpoint (CORS).'),
  'TK-16': decision(
    'A crash in the middle of an exchange leaves either the tokens and their answer, or no usable tokens.',
  ),
} satisfies Record<string, Rule>

export const portalRenewal = {
  'RF-06': rfc(
    9700,
    '4.14.2',
    'Each renewal replaces the refresh token. The one just replaced gives the same successor for ten seconds. After that its use ends the login.',
  ),
  'RF-07': rfc(9700, '4.14.2', 'A refresh token expires after 14 days without use, and a login ends after 90 days.'),
  'RF-12': rfc(9700, '4.14.2', 'A new password and signing out everywhere end the refresh tokens of the user.'),
  'limit-renewals': decision('A login can be renewed 60 times a minute. After that the answer is 429.'),
} satisfies Record<string, Rule>

export const revocation = {
  'revoke-call': rfc(
    7009,
    '2',
    '`POST /api/revokeToken` with token, client_id and client_secret ends the login that the token belongs to, with all its tokens. An unknown token is answered with 200, too.',
  ),
} satisfies Record<string, Rule>

export const person = {
  'name-call': platform(
    '`GET /api/me` with an access token answers the person with id, e-mail address, first name and last name. Without a valid token the answer is 403.',
  ),
  'portal-token': platform(
    "The portal's own page gives a signed-in user an access token for the API, shown once and valid for 24 hours.",
  ),
} satisfies Record<string, Rule>

export const api = {
  'api-operations': platform(
    'The API lists, creates, reads, changes and removes applications, and makes new client secrets.',
  ),
  'api-create': platform(
    'The answer to a creation has the application, its client with the secret, and two app access tokens. The secret and the tokens are in no other answer.',
  ),
  'api-envelope': platform('The body of a creation or a change is the envelope, or only its data.'),
  'api-fields': platform(
    'A creation needs name, redirectUris and groupId. Five more texts have to be there but may be empty. defaultRedirectUri may be left out.',
  ),
  'api-errors': platform(
    'A refusal of the API is `{"error":{"status","message"}}`. For 422 the message names every wrong field at once.',
  ),
  'api-update': platform(
    'A change needs name and redirectUris. A field that is left out keeps its value. The group cannot change.',
  ),
  'api-etag': rfc(
    9110,
    '13.1.1',
    'Create and Get answer with a strong ETag. With If-Match, a change or removal of another version is refused with 412.',
  ),
  'api-developers': decision('Every member of the group of an application is its developer.'),
  'api-app-token': decision('An app access token reads its own application and does nothing else.'),
  'api-descriptions': platform('The API describes itself as OpenAPI and as RAML, without a token.'),
  'AP-01': rfc(
    6750,
    '3.1',
    'A call without a valid token is answered with 401 and WWW-Authenticate, and with an error code only if a token was sent.',
  ),
  'AP-02': rfc(
    6750,
    '2',
    'A token counts only in the Authorization header. The scheme is read without regard to case.',
  ),
  'AP-03': rfc(
    9068,
    '4',
    'The API checks algorithm, signature, type, issuer, audience and times of a token, and uses only its own keys.',
  ),
  'AP-04': platform(
    'An application of a group that the caller is not in is answered with 404 when read, and with 403 when changed.',
  ),
  'AP-05': platform('A creation needs membership in the group at the moment when it is written.'),
  'AP-06': decision('Unknown fields, and fields that only the API sets, are ignored.'),
  'AP-07': decision('A value of the wrong type is refused with 422 and never converted.'),
  'AP-08': rfc(
    6749,
    '3.1.2',
    'A redirect URI is absolute, without fragment, user or wildcard, and has at most 2,048 characters.',
  ),
  'AZ-14': rfc(9700, '2.6', 'A redirect URI is https, or http on a loopback address.'),
  'AP-09': decision('The other addresses of an application are http or https. The API never loads them.'),
  'AP-10': decision('A body with `__proto__` or `constructor.prototype` is refused.'),
  'AP-11': decision(
    'An id in an address is checked before it reaches the database. One of the wrong form is answered like an unknown one.',
  ),
  'AP-12': decision('The API takes only JSON bodies. Other content types get 415.'),
  'AP-13': platform('The list has the applications of the caller and of nobody else, as a collection.'),
  'AP-14': decision('A creation makes the application, its client and its secret, or nothing.'),
  'AP-16': decision('Simultaneous changes lose nothing that the rules of If-Match and of the two latest secrets keep.'),
  'AP-17': decision('Every text is stored and returned as it was sent.'),
  'AP-18': decision('Removing an application ends its codes, secrets and tokens at once.'),
  'AP-19': rfc(9700, '4.15', 'The API chooses the ids of clients. None is the id of a user.'),
  'AP-20': rfc(9110, '15.5.6', 'An address answers a method that it does not take with 405 or 404. HEAD has no body.'),
  'SE-02': platform('The two latest secrets of a client are valid. A third one replaces the oldest.'),
  'SE-05': platform('App access tokens are shown once, in the answer to the creation.'),
} satisfies Record<string, Rule>

export const groups = {
  'groups-create': platform('`POST /identities/v1` makes a group. Its maker is a member at once.'),
  'groups-list': decision(
    '`GET /identities/v1/{user_id}/links?type=MemberOf` lists the groups of the caller with their names, own groups first.',
  ),
  'groups-invite': decision(
    'Nobody becomes a member without agreeing. An invitation gives no right and shows nothing of the invited person.',
  ),
  'groups-leave': decision(
    'A member can leave a group, and its maker can remove members. The last member of a group with applications stays.',
  ),
  'groups-portal-token': platform("Only an access token from the portal's own page changes who is in a group."),
} satisfies Record<string, Rule>

export const limits = {
  'limit-groups': decision('A person is in at most 20 groups.'),
  'limit-applications': decision('A group has at most 100 applications, whose fields take at most 256 KiB as JSON.'),
  'limit-invitations': decision('A group has at most 20 open invitations. A person is invited at most 20 times a day.'),
  'limit-grants': decision('A person has at most 100 logins at one client. A new one ends the oldest.'),
  'limit-sign-ups': decision('One address can sign up 100 people an hour.'),
} satisfies Record<string, Rule>
