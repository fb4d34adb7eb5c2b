// Every reason for which the portal or the API refuses a request, in words for developers. The laboratory, the portal's
// error pages and the conformance suite use these texts. Each kind of error answer also has a table with its own texts.
// For example, `pages` in portal/error-pages.ts has the texts for visitors.

export interface Guidance {
  /** What was wrong with the request. Each of these texts has one or two sentences. */
  found: string
  /** Why the platform refuses a request with this mistake. */
  why: string
  /** How to fix the mistake. */
  fix: string
  /** The rules (docs/reference/platform.md), or the RFC and its section. */
  reference: string
}

export const reasons = {
  'address-unreadable': {
    found:
      'The address of the request could not be read: it has a broken percent-encoding, or a segment that is too long.',
    why: 'A percent sign must be followed by two hexadecimal digits, and the decoded bytes must be UTF-8. No id in an address has more than 100 characters.',
    fix: 'Encode every value before you put it into an address, for example with encodeURIComponent.',
    reference: 'RFC 3986 2.1 and 2.5',
  },
  'host-repeated': {
    found: 'The request has two Host headers.',
    why: 'A proxy may use one Host header, and the platform the other.',
    fix: 'Send one Host header. Perhaps a library and your own code both add the header.',
    reference: 'RFC 9112 3.2',
  },
  'body-unreadable': {
    found: 'The body of the request could not be read.',
    why: 'The Content-Type says how to read the body. This body is in another format, or damaged.',
    fix: 'Send the format that the Content-Type names: a form (application/x-www-form-urlencoded) to the portal, and JSON to the application API.',
    reference: 'rules TK-01 and AP-12',
  },
  'body-too-large': {
    found: 'The body of the request is too large.',
    why: 'No call needs a larger body. Without a limit, callers could fill the memory of the platform.',
    fix: 'Send less than 32 KiB to the portal, and less than 64 KiB to the application API.',
    reference: 'RFC 9110 15.5.14',
  },
  'content-type-unsupported': {
    found: 'The address does not accept this Content-Type.',
    why: 'The Content-Type says how to read the body, and the platform does not guess.',
    fix: 'Send application/x-www-form-urlencoded or application/json to the portal, and application/json to the application API.',
    reference: 'RFC 9110 15.5.16',
  },
  'field-missing': {
    found: 'A required field is missing or empty.',
    why: 'The required fields identify the client and the login, and name the addresses to which the platform sends the browser back.',
    fix: 'Compare the required fields with the fields that arrived. Many OAuth libraries do not send state, cancel_url or client_id by themselves.',
    reference: 'rules start-parameters and CL-14',
  },
  'field-repeated': {
    found: 'A field was sent more than once.',
    why: 'If a field has two values, the platform cannot know which value is right. A proxy may use the first value, and the platform the second.',
    fix: 'Send each field once. Perhaps a library and your own code both add the field.',
    reference: 'RFC 6749 3.1 and 3.2',
  },
  'field-misplaced': {
    found: 'A field was sent in the address or in a header, but the platform reads only the body.',
    why: 'Addresses appear in logs, histories and Referer headers. A request must identify its client in only one place.',
    fix: 'Send client_id, client_secret and all other fields in the body of the POST.',
    reference: 'rule TK-01; RFC 6749 2.3.1',
  },
  'field-too-long': {
    found: 'A field is too long.',
    why: 'A value of this length is a mistake or an attack.',
    fix: 'Look at what your client puts into the field. A state needs no more than 43 characters.',
    reference: 'rule AZ-08',
  },
  'fields-invalid': {
    found: 'A field has a value that is not allowed.',
    why: 'The platform stores only values that it can show and use later.',
    fix: 'Read the message in the answer. The message names each wrong field, and says which values are allowed.',
    reference: 'rule api-fields',
  },
  'grant-type-unsupported': {
    found: 'Unknown grant_type.',
    why: 'The grant_type says which fields the request must have.',
    fix: 'Use grant_type=authorization to start a login, authorization_code to exchange a code, and refresh_token to renew tokens.',
    reference: 'rules AZ-04, CL-14 and RF-01; RFC 6749 5.2',
  },
  'response-type-unsupported': {
    found: 'The response_type is not code.',
    why: 'Other response types put tokens into addresses.',
    fix: 'Start a login with response_type=code.',
    reference: 'rule AZ-04; RFC 6749 3.1.1',
  },
  'challenge-invalid': {
    found: 'The PKCE challenge is not a valid S256 challenge.',
    why: 'With the method plain, the challenge is the verifier itself and protects nothing.',
    fix: 'Send code_challenge, 43 characters of base64url, together with code_challenge_method=S256.',
    reference: 'RFC 7636 4.2 and 4.3',
  },
  'scope-refused': {
    found: 'The renewal asks for a scope, but the login has no scope.',
    why: 'A renewal must not give the client more rights than the user allowed at the login.',
    fix: 'Leave scope out when you renew tokens.',
    reference: 'RFC 6749 6',
  },
  'client-unknown': {
    found: 'There is no client with this client_id.',
    why: 'Only a registered client is allowed to send visitors here and receive tokens.',
    fix: 'Compare the client_id with the client ID on the application’s page. Perhaps the application was removed, or was created in another sandbox.',
    reference: 'rule AZ-01; RFC 6749 5.2',
  },
  'secret-wrong': {
    found: 'The client_secret is not one of the two latest secrets of this client.',
    why: 'Somebody may have stolen the code. But only the client knows the secret, so only the client can get tokens.',
    fix: 'Create a new secret for the application, and copy it into the settings of your client without spaces or quotation marks.',
    reference: 'rules CL-14 and SE-02; RFC 6749 2.3.1',
  },
  'redirect-uri-unregistered': {
    found: 'The redirect_uri is not registered for this client.',
    why: 'The portal sends the code to this address, so the owner of the client must have registered it. The portal compares the addresses byte by byte.',
    fix: 'Keep the redirect URI in one setting. Register it exactly as your client sends it: scheme, host, port, path and slash.',
    reference: 'rule AZ-02; RFC 6749 3.1.2.3 and 4.1.3',
  },
  'redirect-uri-differs': {
    found: 'The redirect_uri of the exchange differs from the redirect_uri of the login request.',
    why: 'The code went to the redirect_uri of the login request. An exchange for another address may come from somebody who has stolen the code.',
    fix: 'Keep the redirect URI in one setting, and send the same address both times.',
    reference: 'rule TK-07; RFC 6749 4.1.3',
  },
  'cancel-url-foreign': {
    found: 'The cancel_url is missing, or no registered redirect URI has the same origin.',
    why: 'If visitors decline, the portal sends them to this address. Without this rule, a link to the portal could lead visitors to any site.',
    fix: 'Send the address of a page on your own site. The page tells visitors that they did not sign in.',
    reference: 'rule AZ-06; RFC 9700 4.11.2',
  },
  'state-missing': {
    found: 'The login was started with a state, but the exchange has no state.',
    why: 'Without the state, the portal cannot check that the code belongs to this login.',
    fix: 'Send the state of the login as a field of the exchange. Generic OAuth libraries do this only if you configure it.',
    reference: 'rule TK-08',
  },
  'state-differs': {
    found: 'The state of the exchange differs from the state of the login request.',
    why: 'The state ties the code to the browser that started the login. Without the state, an attacker could sign a visitor in to the attacker’s account.',
    fix: 'Keep the state of each login in a separate cookie, so that a second tab does not overwrite it.',
    reference: 'rule TK-08; RFC 6749 10.12',
  },
  'verifier-missing': {
    found: 'The login was started with a PKCE challenge, but the exchange has no verifier.',
    why: 'Only the client that started the login knows the verifier. Without the verifier, anybody who has the code could get tokens.',
    fix: 'Keep the verifier together with the state, and send the verifier as code_verifier.',
    reference: 'RFC 7636 4.5',
  },
  'verifier-differs': {
    found: 'The PKCE verifier does not belong to the challenge of this login.',
    why: 'The verifier ties the code to one login of the client. Without the verifier, an attacker could use a stolen code in another login.',
    fix: 'The challenge is the SHA-256 of the verifier in base64url without padding. Keep a separate verifier for each login.',
    reference: 'RFC 7636 4.6; RFC 9700 2.1.1',
  },
  'verifier-unexpected': {
    found: 'The exchange has a PKCE verifier, but the login was started without a challenge.',
    why: 'An attacker may have removed the challenge from the login request.',
    fix: 'Send code_challenge and code_challenge_method=S256 in the login request.',
    reference: 'RFC 9700 4.8.2',
  },
  'code-unknown': {
    found: 'The portal does not know this code.',
    why: 'Only a code that the portal issued can be exchanged.',
    fix: 'When you read the code from the address, decode it once, and do not change it in any other way. Perhaps the code was cut off, belongs to another sandbox, or expired more than ten minutes ago.',
    reference: 'RFC 6749 4.1.3',
  },
  'code-used': {
    found: 'The code was already used.',
    why: 'A code works only once. If the code arrives again after more than ten seconds, or with other fields, somebody may have stolen it. The portal then revokes the tokens from the first use.',
    fix: 'Exchange each code only once. If the browser requests the same callback address again, reuse the answer to the first exchange.',
    reference: 'RFC 6749 4.1.2',
  },
  'code-expired': {
    found: 'The code has expired.',
    why: 'A code goes through the browser, where others may see it. The code is therefore valid only for a short time.',
    fix: 'Exchange the code as soon as your callback receives it, before you do anything else.',
    reference: 'RFC 6749 4.1.2',
  },
  'code-revoked': {
    found: 'The login ended before its code was exchanged.',
    why: 'After the user has ended the grant, nobody can exchange the code of the grant.',
    fix: 'Nothing is wrong with your client: the user signed out everywhere, or withdrew the consent.',
    reference: 'RFC 6749 4.1.2',
  },
  'code-of-another-client': {
    found: 'The code was issued to another client.',
    why: 'A code works only for the client that it was issued to.',
    fix: 'Compare the client_id of the login request with the client_id of the exchange.',
    reference: 'RFC 6749 4.1.3',
  },
  'consent-declined': {
    found: 'The visitor did not allow the application.',
    why: 'Only the user decides what an application is allowed to do for them.',
    fix: 'Nothing is wrong with your client. At your cancel_url, tell the visitor that nothing was shared, and offer to sign in again.',
    reference: 'rule AZ-12; RFC 6749 4.1.2.1',
  },
  'consent-missing': {
    found: 'The user has not allowed this application yet.',
    why: 'An application gets tokens only after the user has allowed it.',
    fix: 'Call /api/authorizeApplication first, or let the user allow the application on the portal’s page.',
    reference: 'rule calls-without-browser',
  },
  'refresh-token-unknown': {
    found: 'The portal does not know this refresh token.',
    why: 'Only a refresh token that the portal issued can be used.',
    fix: 'Send the refresh token exactly as you received it. Perhaps the token was cut off, belongs to another sandbox, is an access token, or was replaced more than 100 renewals ago.',
    reference: 'RFC 6749 6',
  },
  'refresh-token-used': {
    found: 'The refresh token was already replaced by a newer one.',
    why: 'Each refresh token is replaced when it is used. A second use looks like theft, so the portal ends the grant.',
    fix: 'Store the new refresh token before you use the new access token. All your processes must read the refresh token from the same place.',
    reference: 'RFC 9700 4.14.2',
  },
  'refresh-token-expired': {
    found: 'The refresh token has expired or was revoked.',
    why: 'The portal does not issue tokens for a login that has ended. A login also ends if its refresh token is not used for a long time.',
    fix: 'Let the visitor sign in again.',
    reference: 'RFC 6749 6',
  },
  'renewed-too-often': {
    found: 'The session was renewed 60 times within a minute. The refresh token is still valid.',
    why: 'A client that renews in a loop slows the portal down for everybody.',
    fix: 'Wait as long as Retry-After says. Renew once, shortly before the access token expires, and let all requests use the new token.',
    reference: 'RFC 6585 4',
  },
  'refresh-token-of-another-client': {
    found: 'The refresh token was issued to another client.',
    why: 'A refresh token works only for the client that it was issued to.',
    fix: 'Compare the client_id of the exchange with the client_id of the renewal.',
    reference: 'RFC 6749 10.4',
  },
  'token-missing': {
    found: 'The call has no access token.',
    why: 'The application API acts on behalf of a user. The access token says who this user is.',
    fix: 'Send Authorization: Bearer with the access token of the visitor.',
    reference: 'RFC 6750 2.1',
  },
  'token-malformed': {
    found: 'The access token is not a valid token of this portal.',
    why: 'Without a check of the signature, the issuer and the times, anybody could make a token.',
    fix: 'Send the access token exactly as you received it. If the token was not cut off, sign in again: perhaps it belongs to another sandbox, to a removed signing key, or to an earlier PORTAL_URL.',
    reference: 'RFC 6750 3.1; RFC 9068 4',
  },
  'token-expired': {
    found: 'The access token has expired.',
    why: 'The sooner a token expires, the less a thief can do with it. The field expires_in tells the client when the token expires.',
    fix: 'Renew the token, or ask the visitor to sign in, shortly before expires_in has passed.',
    reference: 'RFC 6750 3.1',
  },
  'token-revoked': {
    found:
      'The access token was revoked by a person, by the client or by the portal. The portal revokes tokens if a code or a refresh token may have been stolen, if the user has more than 100 grants for the client, or if the application was removed.',
    why: 'After a sign-out, a withdrawn consent, a new password or a theft, no client is allowed to act on the user’s behalf with the old tokens.',
    fix: 'Forget the tokens of a session when it ends, in every process and cache. After a 401 answer, ask the visitor to sign in.',
    reference: 'RFC 6750 3.1; RFC 7009',
  },
  'not-allowed': {
    found: 'The user does not have the right to do this.',
    why: 'Only the members of a group can change its applications and invite other people. Only the creator of a group can remove other members, and only invited people can join the group.',
    fix: 'Check that the user is a member of the group. To remove another member, use the account of the group’s creator.',
    reference: 'RFC 6750 3.1; the API’s own description',
  },
  'token-of-another-kind': {
    found: 'The access token is valid, but the call does not accept access tokens of this kind.',
    why: 'A client must not change the members of a group, so the tokens that it gets at logins do not allow this. An application’s own token does not belong to a user.',
    fix: 'Use an access token from the portal’s own page to change the members of a group. With an application’s own access token, only read or list that application.',
    reference: 'RFC 6750 3.1; the API’s own description',
  },
  'user-differs': {
    found: 'The call does not come from the user whose id is in userId.',
    why: 'A user can allow an application only on their own behalf.',
    fix: 'Send the e-mail address and the password of this user. The answer of /api/authorize contains the userId.',
    reference: 'rule calls-without-browser',
  },
  'not-found': {
    found: 'Nothing exists at this address, or the caller does not have the right to see it.',
    why: 'A caller without the right to see a record must not learn whether the record exists.',
    fix: 'Check the address.',
    reference: 'the API’s own description',
  },
  'method-not-allowed': {
    found: 'The address does not accept this method.',
    why: 'Each address accepts only the methods that it is made for.',
    fix: 'Use one of the methods in the Allow header of the answer.',
    reference: 'RFC 9110 15.5.6',
  },
  'changed-meanwhile': {
    found: 'If-Match does not name the stored version: somebody else has changed the application.',
    why: 'Writing now would silently undo the other user’s change.',
    fix: 'Get the application again, show the stored values next to the typed values, and send the new ETag.',
    reference: 'RFC 9110 13.1.1',
  },
  'password-wrong': {
    found: 'The e-mail address or the password is wrong.',
    why: 'The answer does not say which of the two is wrong, so that nobody can find out who has an account.',
    fix: 'Nothing is wrong with your client. If this happens in a test, check that the account belongs to this sandbox.',
    reference: 'the portal’s own pages',
  },
  'too-many-failures': {
    found:
      'There were too many failures. For a while, the portal refuses even the right password. It still accepts the right client secret.',
    why: 'It must not be possible to find a password or a secret by trying many values.',
    fix: 'Wait as long as Retry-After says. Do not retry automatically.',
    reference: 'RFC 6585 4',
  },
  'too-many-sign-ups': {
    found: 'Too many people have signed up from this IP address within an hour.',
    why: 'Without a limit, a program could fill the database with accounts.',
    fix: 'Wait as long as Retry-After says. All programs on one machine share this limit.',
    reference: 'rule limit-sign-ups',
  },
  'cross-site': {
    found: 'A page of another site made the browser send this request.',
    why: 'Another site must not act on behalf of a signed-in user.',
    fix: 'Send visitors to the portal with a link or a redirect, and send calls from your server.',
    reference: 'RFC 9700 4.7',
  },
  'cookies-missing': {
    found: 'The browser did not keep the cookie of the portal.',
    why: 'Without its cookie, the portal does not know which browser sent a form.',
    fix: 'Nothing is wrong with your client. WebKit does not keep Secure cookies on plain http: use another browser, or https.',
    reference: 'RFC 6265bis 5.7',
  },
  'form-expired': {
    found: 'A page of the portal was open for too long.',
    why: 'A form is valid for a limited time. Otherwise somebody else could later use a page that was left open.',
    fix: 'Nothing is wrong with your client: start the login again.',
    reference: 'rule AZ-16',
  },
  'group-unknown': {
    found: 'There is no group with this id.',
    why: 'An application, a membership or an invitation needs an existing group.',
    fix: 'Use the id of one of your groups. The portal’s page and GET /identities/v1/{user_id}/links list your groups.',
    reference: 'rule AP-05',
  },
  'user-unknown': {
    found: 'There is no user with this id.',
    why: 'Only a user can be in a group.',
    fix: 'Ask the user for their user ID, which is on their account page.',
    reference: 'rule groups-invite',
  },
  'link-unknown': {
    found: 'The user is neither a member of the group nor invited to it.',
    why: 'Only an existing membership or invitation can be ended.',
    fix: 'List the links of the user again: somebody else may have ended this membership or invitation.',
    reference: 'rule groups-leave',
  },
  'member-already': {
    found: 'The user is already a member of the group.',
    why: 'A user can be a member of a group only once.',
    fix: 'Treat this answer as success.',
    reference: 'rule groups-invite',
  },
  'invited-already': {
    found: 'The user already has an open invitation to the group.',
    why: 'A user has at most one open invitation to a group.',
    fix: 'Wait until the user answers the invitation, or cancel the invitation first.',
    reference: 'rule groups-invite',
  },
  'last-member': {
    found: 'The user is the last member of the group, and the group has applications.',
    why: 'Nobody could manage the applications of a group without members.',
    fix: 'Remove the applications, or invite somebody and wait until they accept.',
    reference: 'rule groups-leave',
  },
  'too-many-groups': {
    found: 'The user is already a member of the maximum number of groups.',
    why: 'The limit keeps pages and answers small.',
    fix: 'Leave a group first.',
    reference: 'rule limit-groups',
  },
  'too-many-applications': {
    found: 'The group already has the maximum number of applications.',
    why: 'The limit keeps lists small.',
    fix: 'Remove an application, or use another group.',
    reference: 'rule limit-applications',
  },
  'too-many-bytes': {
    found: 'Together, the applications of the group would be larger than the platform allows.',
    why: 'The limit keeps lists small.',
    fix: 'Shorten some fields, or use another group.',
    reference: 'rule limit-applications',
  },
  'too-many-invitations': {
    found: 'The group already has the maximum number of open invitations.',
    why: 'Without the limit, a group could flood strangers with invitations.',
    fix: 'Cancel an invitation first.',
    reference: 'rule limit-invitations',
  },
  'invited-too-often': {
    found: 'This user was invited too often within 24 hours.',
    why: 'The limit protects users from being asked the same question again and again.',
    fix: 'Try again tomorrow.',
    reference: 'rule limit-invitations',
  },
  'signed-out': {
    found: 'The user signed out while the page was open.',
    why: 'A form works only in the session in which it was shown.',
    fix: 'Nothing is wrong with your client: start the login again.',
    reference: 'rule AZ-16',
  },
  'password-changed': {
    found: 'The password of the user was changed in the meantime.',
    why: 'A new password ends all logins and sessions that were started with the old password.',
    fix: 'Nothing is wrong with your client: start the login again.',
    reference: 'the portal’s own pages',
  },
  'account-form-expired': {
    found: 'A page of the account was open for too long, or another user has signed in since then.',
    why: 'A form works only for the user who opened the page, and only for a limited time.',
    fix: 'Nothing is wrong with your client: open the page again.',
    reference: 'rule AZ-16',
  },
  'answered-already': {
    found: 'The question on the consent page was already answered. The portal accepts only the first answer.',
    why: 'The portal must not issue two codes for one consent page.',
    fix: 'Nothing is wrong with your client: start the login again.',
    reference: 'rule AZ-11',
  },
  'token-shown': {
    found: 'The form that makes an access token was sent twice. Each token is shown only once.',
    why: 'The portal does not keep the token, so the portal cannot show the token again.',
    fix: 'Create another access token.',
    reference: 'rule portal-token',
  },
  'secret-shown': {
    found: 'The form that makes a client secret was sent twice. Each secret is shown only once.',
    why: 'The portal keeps only a hash of the secret, so the portal cannot show the secret again.',
    fix: 'Create another secret.',
    reference: 'rule SE-02',
  },
  'application-unknown': {
    found: 'There is no application with this id.',
    why: 'A user can manage only applications that exist and belong to a group of the user.',
    fix: 'Check that the id is in the list of applications. Perhaps the application was removed, or belongs to another sandbox.',
    reference: 'rule AP-04',
  },
  'link-expired': {
    found: 'The link to reset a password has expired or was already used.',
    why: 'Somebody who finds an old link in a mailbox must not be able to change the password.',
    fix: 'Nothing is wrong with your client: ask for a new link.',
    reference: 'the portal’s own pages',
  },
  'last-secret': {
    found: 'The call would remove the last secret of the application.',
    why: 'A client without a secret could not prove who it is.',
    fix: 'Create a new secret instead.',
    reference: 'rule SE-02',
  },
  busy: {
    found: 'The sandbox is busy.',
    why: 'Hashing passwords takes memory and time, so the sandbox hashes only a few passwords at once.',
    fix: 'Wait as long as Retry-After says, then try again.',
    reference: 'RFC 9110 15.6.4',
  },
  'store-unavailable': {
    found: 'The sandbox cannot reach its database at the moment.',
    why: 'Every answer depends on the database.',
    fix: 'Nothing is wrong with your client. The client should tell the visitor, keep the session, and try again later.',
    reference: 'RFC 9110 15.6.4',
  },
  internal: {
    found: 'The sandbox has failed.',
    why: 'The error is in the sandbox, or on the machine that it runs on.',
    fix: 'Nothing is wrong with your client. The log of the sandbox has details under the id of this request.',
    reference: 'RFC 9110 15.6.1',
  },
} satisfies Record<string, Guidance>

/**
 * Why a request was refused. The log and the laboratory show this reason. The answer to the caller contains less
 * detail.
 */
export type Reason = keyof typeof reasons
