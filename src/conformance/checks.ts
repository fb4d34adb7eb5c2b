// Every check, by group. A group is a folder in `checks/`. The file `rows.ts` in this folder contains the checks of the
// group.
import type { Check, Row } from './check.ts'
import { apiAnswers } from './checks/api-answers/rows.ts'
import { apiFaults } from './checks/api-faults/rows.ts'
import { callback } from './checks/callback/rows.ts'
import { cookie } from './checks/cookie/rows.ts'
import { exchange } from './checks/exchange/rows.ts'
import { log } from './checks/log/rows.ts'
import { metadata } from './checks/metadata/rows.ts'
import { nextVisitor } from './checks/next-visitor/rows.ts'
import { opaqueTokens } from './checks/opaque-tokens/rows.ts'
import { pages } from './checks/pages/rows.ts'
import { portalFaults } from './checks/portal-faults/rows.ts'
import { rawRequests } from './checks/raw-requests/rows.ts'
import { realBrowser } from './checks/real-browser/rows.ts'
import { renewal } from './checks/renewal/rows.ts'
import { renewalFaults } from './checks/renewal-faults/rows.ts'
import { signingOut } from './checks/signing-out/rows.ts'
import { startingALogin } from './checks/starting-a-login/rows.ts'
import { stayingSignedIn } from './checks/staying-signed-in/rows.ts'
import { tabs } from './checks/tabs/rows.ts'
import { time } from './checks/time/rows.ts'

/** In the order in which they run and are reported. The id is the name of the folder. */
export const groups: { id: string; title: string; rows: Row[] }[] = [
  { id: 'starting-a-login', title: 'Starting a login', rows: startingALogin },
  { id: 'callback', title: 'The callback', rows: callback },
  { id: 'exchange', title: 'The exchange', rows: exchange },
  { id: 'cookie', title: 'The cookie', rows: cookie },
  { id: 'staying-signed-in', title: 'Staying signed in', rows: stayingSignedIn },
  { id: 'renewal', title: 'Renewing a session', rows: renewal },
  { id: 'renewal-faults', title: 'Faults of a renewal', rows: renewalFaults },
  { id: 'tabs', title: 'Tabs, windows, replicas', rows: tabs },
  { id: 'signing-out', title: 'Signing out', rows: signingOut },
  { id: 'next-visitor', title: 'The next visitor', rows: nextVisitor },
  { id: 'time', title: 'Time', rows: time },
  { id: 'opaque-tokens', title: 'Tokens that are not JWTs', rows: opaqueTokens },
  { id: 'raw-requests', title: 'Raw requests', rows: rawRequests },
  { id: 'pages', title: 'Pages', rows: pages },
  { id: 'metadata', title: "The portal's metadata", rows: metadata },
  { id: 'portal-faults', title: 'Faults of the portal', rows: portalFaults },
  { id: 'api-faults', title: 'Faults of the API', rows: apiFaults },
  { id: 'api-answers', title: 'Harmful content in answers', rows: apiAnswers },
  { id: 'log', title: 'Log', rows: log },
  { id: 'real-browser', title: 'In Chromium', rows: realBrowser },
]

export const checks: Check[] = groups.flatMap(({ id, rows }) => rows.map(row => ({ ...row, group: id })))

/** The checks whose id or group matches a pattern. */
export function pickChecks(only: RegExp | undefined): Check[] {
  if (!only) return checks
  return groups.flatMap(({ id: group, title }) =>
    checks.filter(check => check.group === group && [check.id, group, title].some(text => only.test(text))),
  )
}
