// What each reason for a refusal means to somebody who writes a client: why it matters, and what to do about it.
import type { StepReason } from './recorded.ts'

export interface Explanation {
  /** What the portal or the API found. */
  found: string
  /** What to do about it. */
  mend: string
  /** The part of the specification or the RFC. */
  source: string
}

export const explanations: Record<StepReason, Explanation> = {
  'body-unreadable': {
    found: 'The body of the request could not be read.',
    mend: 'Send what the Content-Type says: a form to the portal (application/x-www-form-urlencoded), JSON to the application API.',
    source: 'specification 4.2; the API’s own description',
  },
  'body-too-large': {
    found: 'The body of the request is larger than is taken here.',
    mend: 'A call to the portal needs less than 32 KiB, and one to the application API less than 64 KiB.',
    source: 'RFC 9110 15.5.14',
  },
  'content-type-unsupported': {
    found: 'The Content-Type of the request is none that is taken here.',
    mend: 'Send application/x-www-form-urlencoded or application/json to the portal, and application/json to the application API.',
    source: 'RFC 9110 15.5.16',
  },
  'field-missing': {
    found: 'A field that is needed was not sent, or was empty.',
    mend: 'Compare the fields that arrived with those of the specification; generic OAuth libraries leave out state, cancel_url or client_id.',
    source: 'specification 4.2',
  },
  'field-repeated': {
    found: 'A field was sent more than once.',
    mend: 'Send each field once; look for a library and your own code adding the same one.',
    source: 'RFC 6749 3.1 and 3.2',
  },
  'field-misplaced': {
    found: 'A field stood in the address or in a header, where only the body counts.',
    mend: 'Send client_id, client_secret and all other fields in the body of the POST.',
    source: 'specification 4.2; RFC 6749 2.3.1',
  },
  'field-too-long': {
    found: 'A field was longer than any that is good.',
    mend: 'Look at what your client puts into it; a state needs no more than 43 characters.',
    source: 'specification 4.2',
  },
  'fields-invalid': {
    found: 'A field has a value that is not allowed.',
    mend: 'Read the message in the answer: it names each field and what is allowed.',
    source: 'specification part 2',
  },
  'grant-type-unsupported': {
    found: 'The grant_type is none that is known here.',
    mend: 'Begin a login with grant_type=authorization, exchange a code with authorization_code, renew with refresh_token.',
    source: 'specification 4.2; RFC 6749 5.2',
  },
  'response-type-unsupported': {
    found: 'The response_type is not code.',
    mend: 'Begin a login with response_type=code.',
    source: 'specification 4.2; RFC 6749 3.1.1',
  },
  'challenge-invalid': {
    found: 'The PKCE challenge is not one of S256.',
    mend: 'Send code_challenge, 43 characters of base64url, together with code_challenge_method=S256.',
    source: 'RFC 7636 4.2 and 4.3',
  },
  'scope-refused': {
    found: 'A scope was asked for where none was given.',
    mend: 'Leave scope out when you renew: a renewal cannot ask for more than the login had.',
    source: 'RFC 6749 6',
  },
  'client-unknown': {
    found: 'There is no client with this client_id.',
    mend: 'Compare client_id with the one that the application shows. Was the application removed, or made in another sandbox?',
    source: 'specification 4.2; RFC 6749 5.2',
  },
  'secret-wrong': {
    found: 'The client_secret is none of the two latest of this client.',
    mend: 'Make a new secret for the application, and put it into the settings of your client as it stands, without spaces or quotation marks.',
    source: 'RFC 6749 2.3.1',
  },
  'redirect-uri-unregistered': {
    found: 'The redirect_uri is not one that is registered for this client.',
    mend: 'Register the address exactly as your client sends it: scheme, host, port, path and slash.',
    source: 'specification 4.2; RFC 6749 3.1.2.3',
  },
  'redirect-uri-differs': {
    found: 'The redirect_uri of the exchange is not the one that the login was begun with.',
    mend: 'Take both from one setting.',
    source: 'specification 4.2; RFC 6749 4.1.3',
  },
  'cancel-url-foreign': {
    found: 'The cancel_url is missing, or has not the origin of a registered redirect URI.',
    mend: 'Send an address of your own site, where you tell visitors that they did not sign in.',
    source: 'specification 4.2',
  },
  'state-missing': {
    found: 'The login was begun with a state, and the exchange came without one.',
    mend: 'Send the state of the login as a field of the exchange.',
    source: 'specification 4.2 and part 5',
  },
  'state-differs': {
    found: 'The state of the exchange is not the one that the login was begun with.',
    mend: 'Keep the state of each login apart, one cookie each: a second tab must not overwrite it.',
    source: 'specification 4.2; RFC 6749 10.12',
  },
  'verifier-missing': {
    found: 'The login was begun with a PKCE challenge, and the exchange came without the verifier.',
    mend: 'Keep the verifier with the state, and send it as code_verifier.',
    source: 'RFC 7636 4.5',
  },
  'verifier-differs': {
    found: 'The PKCE verifier does not belong to the challenge of this login.',
    mend: 'The challenge is the SHA-256 of the verifier in base64url without padding. Keep the verifier of each login apart.',
    source: 'RFC 7636 4.2 and 4.6',
  },
  'verifier-unexpected': {
    found: 'The exchange came with a PKCE verifier, and the login was begun without a challenge.',
    mend: 'Send code_challenge and code_challenge_method=S256 at the start.',
    source: 'RFC 9700 4.8.2',
  },
  'code-unknown': {
    found: 'No login was given this code.',
    mend: 'Send the code as it came, decoded once. Was it cut off, or is it of another sandbox?',
    source: 'RFC 6749 4.1.3',
  },
  'code-used': {
    found: 'The code had been used already.',
    mend: 'Exchange a code once, also when the browser delivers the same address twice.',
    source: 'RFC 6749 4.1.2',
  },
  'code-expired': {
    found: 'The code was older than it may be.',
    mend: 'Exchange it at once. Compare the clocks of the two machines if you do.',
    source: 'RFC 6749 4.1.2',
  },
  'code-revoked': {
    found: 'The login of the code was ended before the code was exchanged.',
    mend: 'Nothing is wrong with your client: the person signed out everywhere, or took the consent back.',
    source: 'RFC 6749 4.1.2',
  },
  'code-of-another-client': {
    found: 'The code was given to another client.',
    mend: 'Compare the client_id of the start with that of the exchange.',
    source: 'RFC 6749 4.1.3',
  },
  'consent-declined': {
    found: 'The visitor did not allow the application.',
    mend: 'Nothing is wrong: show at your cancel_url that nothing was shared, and offer to sign in again.',
    source: 'specification 4.2; RFC 6749 4.1.2.1',
  },
  'consent-missing': {
    found: 'The person has not allowed this application yet.',
    mend: 'Call /api/authorizeApplication first, or let the person answer the page of the portal.',
    source: 'specification 4.2',
  },
  'refresh-token-unknown': {
    found: 'No login was given this refresh token.',
    mend: 'Send it as it came. Was it cut off, mixed up with the access token, or is it of another sandbox?',
    source: 'RFC 6749 6',
  },
  'refresh-token-used': {
    found: 'The refresh token had been replaced by a newer one.',
    mend: 'Store the newer one before anything else; a process that still has the old one must read it anew.',
    source: 'RFC 9700 4.14.2',
  },
  'refresh-token-expired': {
    found: 'The refresh token is too old, or was revoked.',
    mend: 'Let the visitor sign in again.',
    source: 'RFC 6749 6',
  },
  'renewed-too-often': {
    found: 'The session was renewed 60 times within a minute. The refresh token is still good.',
    mend: 'Wait for as long as Retry-After says. Renew once when the access token is about to end, and share the result.',
    source: 'RFC 6585 4',
  },
  'refresh-token-of-another-client': {
    found: 'The refresh token was given to another client.',
    mend: 'Compare the client_id of the exchange with that of the renewal.',
    source: 'RFC 6749 10.4',
  },
  'token-missing': {
    found: 'The call came without an access token.',
    mend: 'Send Authorization: Bearer with the access token of the visitor.',
    source: 'RFC 6750 2.1',
  },
  'token-malformed': {
    found: 'The access token is none that this portal has signed.',
    mend: 'Send it as it came. Was it cut off, or is it of another sandbox?',
    source: 'RFC 6750 3.1; RFC 9068 4',
  },
  'token-expired': {
    found: 'The access token had expired.',
    mend: 'Renew it, or let the visitor sign in, shortly before expires_in has passed.',
    source: 'RFC 6750 3.1',
  },
  'token-revoked': {
    found: 'The access token was revoked: somebody signed out, took the consent back, or removed the application.',
    mend: 'Forget the tokens of a session when it ends, and ask to sign in again.',
    source: 'RFC 6750 3.1; RFC 7009',
  },
  'not-allowed': {
    found: 'The token is good, and does not allow this.',
    mend: 'Whose application is it, and is the person a member of its group? An app access token reads its own application alone.',
    source: 'RFC 6750 3.1; the API’s own description',
  },
  'not-found': {
    found: 'There is nothing at this address, or nothing that this caller may see.',
    mend: 'Compare the address and the id.',
    source: 'the API’s own description',
  },
  'method-not-allowed': {
    found: 'The address does not take this method.',
    mend: 'See the Allow header of the answer.',
    source: 'RFC 9110 15.5.6',
  },
  'redirect-followed': {
    found: 'A redirect was followed that answered a call of the client’s server.',
    mend: 'Turn redirects off for every call of your server: neither the portal nor the application API answers one with a redirect.',
    source: 'RFC 9700 4.12; RFC 9110 15.4',
  },
  conflict: {
    found: 'The request does not go together with what is there.',
    mend: 'Read what is there, and decide again.',
    source: 'the API’s own description',
  },
  'changed-meanwhile': {
    found: 'If-Match does not name the version that is stored: somebody else has changed the application.',
    mend: 'Get the application again, show what is stored now beside what was to be written, and send the new ETag.',
    source: 'RFC 9110 13.1.1',
  },
  'password-wrong': {
    found: 'E-mail or password is not right.',
    mend: 'Nothing is wrong with your client. In a test: are these the settings of this sandbox?',
    source: 'specification 4.2',
  },
  'too-many-failures': {
    found: 'There were too many failures, so even a right answer is not heard for a while.',
    mend: 'Wait for as long as Retry-After says, and do not try again by itself.',
    source: 'RFC 6585 4',
  },
  'cross-site': {
    found: 'A page of another site made the browser send this.',
    mend: 'Send visitors to the portal by a link or a redirect, and make calls from your server.',
    source: 'RFC 9700 4.7',
  },
  'cookies-missing': {
    found: 'The browser did not keep the cookie of the portal.',
    mend: 'Nothing is wrong with your client. WebKit keeps no Secure cookies on plain http: use another browser, or https.',
    source: 'RFC 6265bis 5.7',
  },
  'form-expired': {
    found: 'A page of the portal had been open for too long.',
    mend: 'Nothing is wrong with your client: begin the login again.',
    source: 'specification 4.2',
  },
  'group-unknown': {
    found: 'There is no group with this id.',
    mend: 'Use the id of one of your groups; the portal’s page and GET /identities/v1/{user_id}/links list them.',
    source: 'specification, part 1',
  },
  'user-unknown': {
    found: 'There is no user with this id.',
    mend: 'Ask the person for the user ID on their account page.',
    source: 'specification, part 1',
  },
  'link-unknown': {
    found: 'The user is neither a member of the group nor invited to it.',
    mend: 'List the links of the group again: somebody else may have ended this one.',
    source: 'specification, part 1',
  },
  'member-already': {
    found: 'The user is a member of the group already.',
    mend: 'Treat this answer as success.',
    source: 'specification, part 1',
  },
  'invited-already': {
    found: 'The user has an open invitation to the group already.',
    mend: 'Wait until the invitation is answered, or take it back first.',
    source: 'specification, part 1',
  },
  'last-member': {
    found: 'The last member of a group that has applications cannot leave it.',
    mend: 'Remove the applications, or invite somebody and wait until they accept.',
    source: 'specification, part 1',
  },
  'too-many-groups': {
    found: 'The user is in as many groups as one user may be.',
    mend: 'Leave a group first.',
    source: 'specification, part 1',
  },
  'too-many-applications': {
    found: 'The group has as many applications as a group may have.',
    mend: 'Remove an application, or use another group.',
    source: 'specification, part 1',
  },
  'too-many-bytes': {
    found: 'The applications of the group take as much room as a group may have.',
    mend: 'Shorten some fields, or use another group.',
    source: 'specification, part 1',
  },
  'too-many-invitations': {
    found: 'The group has as many open invitations as a group may have.',
    mend: 'Take an invitation back first.',
    source: 'specification, part 1',
  },
  'invited-too-often': {
    found: 'This user was invited too often within 24 hours.',
    mend: 'Try again tomorrow.',
    source: 'specification, part 1',
  },
  'signed-out': {
    found: 'The user signed out while the page was open.',
    mend: 'Nothing is wrong with your client: begin the login again.',
    source: 'specification 4.2',
  },
  'password-changed': {
    found: 'The password of the user was changed in the meantime.',
    mend: 'Nothing is wrong with your client: begin the login again.',
    source: 'specification 4.2',
  },
  'account-form-expired': {
    found: 'A page of the account was open for too long, or another user has signed in since.',
    mend: 'Nothing is wrong with your client: open the page again.',
    source: 'specification 4.2',
  },
  'answered-already': {
    found: 'The question on the consent page was answered already. An answer counts once.',
    mend: 'Nothing is wrong with your client: begin the login again.',
    source: 'specification 4.2',
  },
  'token-shown': {
    found: 'The form that makes an access token was sent twice. Each token is shown once.',
    mend: 'Create another access token.',
    source: 'specification 5.2',
  },
  'secret-shown': {
    found: 'The form that makes a client secret was sent twice. Each secret is shown once.',
    mend: 'Create another secret.',
    source: 'specification 4.1',
  },
  'application-unknown': {
    found: 'There is no application with this id.',
    mend: 'Compare the id with the list of applications: this one was removed, or belongs to another sandbox.',
    source: 'specification 4.1',
  },
  'link-expired': {
    found: 'The link to reset a password has expired or was used.',
    mend: 'Nothing is wrong with your client: ask for a new link.',
    source: 'specification 4.2',
  },
  'last-secret': {
    found: 'An application keeps at least one secret.',
    mend: 'Create a new secret instead.',
    source: 'specification 4.1',
  },
  busy: {
    found: 'There is more to do than can be done at once.',
    mend: 'Wait for as long as Retry-After says, then try again.',
    source: 'RFC 9110 15.6.4',
  },
  'store-unavailable': {
    found: 'The database of the sandbox cannot be reached just now.',
    mend: 'Nothing is wrong with your client: it should say so, keep the session, and try again later.',
    source: 'RFC 9110 15.6.4',
  },
  internal: {
    found: 'The sandbox has a fault of its own.',
    mend: 'Nothing is wrong with your client. The log of the sandbox says more, under the id of this request.',
    source: 'RFC 9110 15.6.1',
  },
}
