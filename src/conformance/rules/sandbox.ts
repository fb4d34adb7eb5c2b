// The rules for this sandbox: its pages for people, its secrets and its database. A client does not depend on these
// rules.
import { decision, type Rule, rfc, should } from './rule.ts'

export const portalPages = {
  'PS-01': rfc(
    9700,
    '4.7',
    'The portal refuses a form if the browser says that another website sent the form, or if the browser does not say where the form comes from. The form also needs a token that the portal made for this form.',
  ),
  'PS-02': decision(
    'A password has at least 8 and at most 1,000 characters. All characters are allowed. The portal does not shorten or change a password.',
  ),
  'PS-03': decision('The portal refuses a password that is too short or equal to the e-mail address.'),
  'PS-04': decision('The portal stores passwords as salted, slow hashes together with the parameters of the hash.'),
  'PS-05': decision(
    'A sign-in with an unknown address and a sign-in with a wrong password get the same answer after the same time.',
  ),
  'PS-06': decision(
    'The portal counts failed sign-ins for each account and for each IP address. A forged X-Forwarded-For does not change the counts. No account is locked permanently.',
  ),
  'PS-07': decision(
    'A sign-in creates a new session of the portal. The name of the session cookie begins with `__Host-`, and the cookie is Secure, HttpOnly and SameSite=Lax.',
  ),
  'PS-08': rfc(9700, '4.16', 'Other sites cannot show a page of the portal in a frame.'),
  'PS-09': rfc(9700, '4.12', 'The portal answers a form with 303, never with 307.'),
  'PS-10': decision(
    "The form-action of a portal page allows the portal itself and the origins of the login's redirect URI and cancel URL, and no other origin.",
  ),
  'PS-11': rfc(
    9700,
    '4.2.4',
    'Pages of the portal load nothing from other sites. If a visitor follows a link on such a page, the Referer contains no query.',
  ),
  'PS-12': decision("The consent page escapes all text from an application, and does not load the application's icon."),
  'PS-13': decision('An account exists only if a setting or a person created it.'),
  'PS-14': should(
    decision(
      'A session of the portal ends when the user signs out, one hour after the last use, and at the latest after eight hours.',
    ),
  ),
  'PS-15': should(
    decision('To set a new password, the user must enter the old password. The new password ends all other sessions.'),
  ),
  'PS-16': decision(
    'E-mail addresses belong to the same account if they differ only in upper and lower case, in the width of their characters, or in spaces around them.',
  ),
  'password-reset': decision(
    'A password reset link works only once, and only within half an hour. The new password ends all sessions and refresh tokens of the account.',
  ),
} satisfies Record<string, Rule>

export const secrets = {
  'SE-01': rfc(6749, '10.10', 'A client secret has 256 random bits, is shown once and is stored as a hash.'),
  'SE-06': decision('Each installation has its own signing keys. After a rotation, older tokens are still valid.'),
} satisfies Record<string, Rule>

export const store = {
  'F-30': decision(
    'While the database is locked, a request that writes waits at most two seconds and then gets a 503 answer. Requests that only read data succeed.',
  ),
  'F-31': decision(
    'If the disk is full, requests that write get a 503 answer, and requests that only read data succeed. When the disk has space again, writing works without a restart.',
  ),
  'F-32': decision(
    'While the database is not reachable, the sandbox answers with 503. The sandbox recovers when the database is reachable again.',
  ),
  'F-33': decision(
    'The sandbox does not start with a damaged database, or with a schema that it does not know. The sandbox never replaces such a database with a new one.',
  ),
  'F-34': decision('After a crash, no application exists without its client or its secret.'),
  'F-35': decision(
    'The sandbox still accepts older tokens that it signed with a replaced key. If other users of the machine can read a key file, the sandbox makes the file private.',
  ),
  'clock-ahead': decision(
    'If a clock was ahead and is then corrected, the limits that were reached in the meantime no longer apply.',
  ),
  seeds: decision(
    'The sandbox applies a seed only if the setting of this seed has changed. A restart alone does not apply a seed again. A seed never changes an account or an application that a person created.',
  ),
} satisfies Record<string, Rule>

export const laboratory = {
  'laboratory-token': decision(
    'The laboratory requires a token if the laboratory or the portal is not on a loopback address.',
  ),
  'laboratory-links': decision('If there is a laboratory, the answer to a refused call contains a link to it.'),
  'laboratory-faults': decision('Each fault changes the answer exactly as the catalogue of faults says.'),
} satisfies Record<string, Rule>
