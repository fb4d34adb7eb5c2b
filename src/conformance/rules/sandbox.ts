// The rules for this sandbox: its pages for people, its secrets and its database. A client does not depend on them.
import { decision, type Rule, rfc, should } from './rule.ts'

export const portalPages = {
  'PS-01': rfc(
    9700,
    '4.7',
    'A form of the portal counts only from a page of the portal, and only in the browser that got it.',
  ),
  'PS-02': decision(
    'A password has at least 8 and at most 1,000 characters, of any kind, and none of them is cut or changed.',
  ),
  'PS-03': decision('A password may neither be too short nor be the e-mail address.'),
  'PS-04': decision('Passwords are stored as salted, slow hashes together with the parameters of the hash.'),
  'PS-05': decision('An unknown address and a wrong password get the same answer after the same time.'),
  'PS-06': decision(
    'Failed sign-ins are counted by account and by address. A forged X-Forwarded-For changes no count, and nobody is locked out for good.',
  ),
  'PS-07': decision(
    'A sign-in gives the portal a new session. Its cookie is `__Host-`, Secure, HttpOnly and SameSite=Lax.',
  ),
  'PS-08': rfc(9700, '4.16', 'No other site can show a page of the portal in a frame.'),
  'PS-09': rfc(9700, '4.12', 'The portal answers a form with 303, never with 307.'),
  'PS-10': decision(
    'The form-action of a page names the origin of the redirect URI that the login goes to, and no other foreign one.',
  ),
  'PS-11': rfc(9700, '4.2.4', 'Pages of the portal load nothing from elsewhere, and links send no query as Referer.'),
  'PS-12': decision(
    'What an application says about itself is escaped on the consent page, and its icon is not loaded.',
  ),
  'PS-13': decision('An account exists only if a setting or a person made it.'),
  'PS-14': should(
    decision('A session of the portal ends an hour after its last use, after eight hours, and with the sign-out.'),
  ),
  'PS-15': should(decision('A new password needs the old one, and ends the other sessions.')),
  'PS-16': decision('E-mail addresses that differ only in case, width or spaces around them are the same account.'),
  'password-reset': decision(
    'A link resets a password once within half an hour, and ends every session and refresh token.',
  ),
} satisfies Record<string, Rule>

export const secrets = {
  'SE-01': rfc(6749, '10.10', 'A client secret has 256 random bits, is shown once and is stored as a hash.'),
  'SE-06': decision('Signing keys belong to one installation and can be rotated while older tokens still verify.'),
} satisfies Record<string, Rule>

export const store = {
  'F-30': decision(
    'While the database is locked, a write waits two seconds at most and is then answered with 503. Reads work.',
  ),
  'F-31': decision('On a full disk, writes are answered with 503 and reads work. Both recover without a restart.'),
  'F-32': decision('While the database is away, answers are 503. They recover when it is back.'),
  'F-33': decision(
    'The sandbox does not start with a damaged database, or with a schema that it does not know. It never makes a new one in its place.',
  ),
  'F-34': decision('No crash leaves an application without its client or its secret.'),
  'F-35': decision(
    'A signing key that is replaced still verifies older tokens. A file that others can read is made private.',
  ),
  'clock-ahead': decision('A clock that was ahead for a while leaves no limit behind.'),
  seeds: decision(
    'A seed is applied when its setting has changed, never only because of a restart. It takes over no account or application that somebody made.',
  ),
} satisfies Record<string, Rule>

export const laboratory = {
  'laboratory-token': decision('The laboratory needs a token unless it and the portal are both on loopback addresses.'),
  'laboratory-links': decision('A refused call has a link to the laboratory, if there is one.'),
  'laboratory-faults': decision('Each fault does on the wire what the catalogue says.'),
} satisfies Record<string, Rule>
