// Why each check is made: what it keeps away, and where that is written.
import type { CheckName } from '../observe/steps.ts'

export const checkMeanings: Record<CheckName, { why: string; source: string }> = {
  redirect_uri: {
    why: 'The code goes to this address, so it must be one that the owner of the client has registered, and the same both times.',
    source: 'specification 4.2; RFC 6749 3.1.2.3 and 4.1.3',
  },
  cancel_url: {
    why: 'Visitors who decline are sent there: an address of another site would make the portal lead anywhere.',
    source: 'specification 4.2; RFC 9700 4.11.2',
  },
  client_secret: {
    why: 'Only the client itself may have tokens for a code that was seen on the way.',
    source: 'specification 4.2; RFC 6749 2.3.1',
  },
  code: {
    why: 'A code is good once, for a minute, and for the client that it was given to: a copy of it must be worth nothing.',
    source: 'RFC 6749 4.1.2',
  },
  state: {
    why: 'It ties the code to the browser that began the login, so that nobody is signed in to the account of somebody else.',
    source: 'specification 4.2; RFC 6749 10.12',
  },
  code_verifier: {
    why: 'It ties the code to this one login of the client, so that a stolen code cannot be redeemed in another.',
    source: 'RFC 7636; RFC 9700 2.1.1',
  },
  refresh_token: {
    why: 'Each is replaced when it is used, so that a stolen one is noticed.',
    source: 'RFC 9700 4.14.2',
  },
}
