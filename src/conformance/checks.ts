// Lists every check, by group. A group is a folder in `checks/`. The file with the name of the folder exports the
// checks of the group.
import type { Check, CheckDefinition } from './check.ts'
import { apiAnswers } from './checks/api-answers/api-answers.ts'
import { apiFaults } from './checks/api-faults/api-faults.ts'
import { callback } from './checks/callback/callback.ts'
import { cookie } from './checks/cookie/cookie.ts'
import { exchange } from './checks/exchange/exchange.ts'
import { log } from './checks/log/log.ts'
import { metadata } from './checks/metadata/metadata.ts'
import { name } from './checks/name/name.ts'
import { nextVisitor } from './checks/next-visitor/next-visitor.ts'
import { opaqueTokens } from './checks/opaque-tokens/opaque-tokens.ts'
import { pages } from './checks/pages/pages.ts'
import { portalFaults } from './checks/portal-faults/portal-faults.ts'
import { rawRequests } from './checks/raw-requests/raw-requests.ts'
import { realBrowser } from './checks/real-browser/real-browser.ts'
import { renewal } from './checks/renewal/renewal.ts'
import { renewalFaults } from './checks/renewal-faults/renewal-faults.ts'
import { signingOut } from './checks/signing-out/signing-out.ts'
import { startingALogin } from './checks/starting-a-login/starting-a-login.ts'
import { stayingSignedIn } from './checks/staying-signed-in/staying-signed-in.ts'
import { tabs } from './checks/tabs/tabs.ts'
import { time } from './checks/time/time.ts'
import { wholeRun } from './checks/whole-run/whole-run.ts'

/**
 * Reports list the groups in this order, and the checks that run alone also run in this order. The id of a group is the
 * name of its folder.
 */
export const groups: { id: string; title: string; checks: CheckDefinition[] }[] = [
  { id: 'starting-a-login', title: 'Starting a login', checks: startingALogin },
  { id: 'callback', title: 'The callback', checks: callback },
  { id: 'exchange', title: 'The exchange', checks: exchange },
  { id: 'cookie', title: 'The cookie', checks: cookie },
  { id: 'staying-signed-in', title: 'Staying signed in', checks: stayingSignedIn },
  { id: 'renewal', title: 'Renewing a session', checks: renewal },
  { id: 'renewal-faults', title: 'Faults of a renewal', checks: renewalFaults },
  { id: 'tabs', title: 'Tabs, windows, replicas', checks: tabs },
  { id: 'signing-out', title: 'Signing out', checks: signingOut },
  { id: 'next-visitor', title: 'The next visitor', checks: nextVisitor },
  { id: 'time', title: 'Time', checks: time },
  { id: 'opaque-tokens', title: 'Tokens that are not JWTs', checks: opaqueTokens },
  { id: 'name', title: 'The name of the visitor', checks: name },
  { id: 'raw-requests', title: 'Raw requests', checks: rawRequests },
  { id: 'pages', title: 'Pages', checks: pages },
  { id: 'metadata', title: "The portal's metadata", checks: metadata },
  { id: 'portal-faults', title: 'Faults of the portal', checks: portalFaults },
  { id: 'api-faults', title: 'Faults of the API', checks: apiFaults },
  { id: 'api-answers', title: 'Harmful content in answers', checks: apiAnswers },
  { id: 'log', title: 'Log', checks: log },
  { id: 'whole-run', title: 'The whole run', checks: wholeRun },
  { id: 'real-browser', title: 'In Chromium', checks: realBrowser },
]

export const checks: Check[] = groups.flatMap(({ id, checks }) => checks.map(check => ({ ...check, group: id })))

/** Returns the checks whose id or group matches the pattern, or all checks if there is no pattern. */
export function pickChecks(only: RegExp | undefined): Check[] {
  if (!only) return checks
  return groups.flatMap(({ id: group, title }) =>
    checks.filter(check => check.group === group && [check.id, group, title].some(text => only.test(text))),
  )
}
