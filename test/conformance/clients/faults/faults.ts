// Mistakes that clients really make, one at a time: each is the small client with other parts in place of right ones.
import type { Group } from '../../../../src/conformance/check.ts'
import { apiFaults } from './api-faults.ts'
import { comingBack } from './coming-back.ts'
import { cookie } from './cookie.ts'
import { exchange } from './exchange.ts'
import type { Fault } from './fault.ts'
import { log } from './log.ts'
import { pages } from './pages.ts'
import { portalFaults } from './portal-faults.ts'
import { signingOut } from './signing-out.ts'
import { startingALogin } from './starting-a-login.ts'
import { stayingSignedIn } from './staying-signed-in.ts'
import { tabs } from './tabs.ts'

const byGroup: Record<Group, Fault[]> = {
  'starting-a-login': startingALogin,
  'coming-back': comingBack,
  exchange,
  cookie,
  'staying-signed-in': stayingSignedIn,
  tabs,
  'signing-out': signingOut,
  pages,
  'portal-faults': portalFaults,
  'api-faults': apiFaults,
  log,
}

export const faults: (Fault & { group: Group })[] = Object.entries(byGroup).flatMap(([group, members]) =>
  members.map(member => ({ ...member, group: group as Group })),
)
