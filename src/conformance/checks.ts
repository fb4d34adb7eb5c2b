// Every check, in the order in which they run and are told.
import type { Check } from './check.ts'
import { apiFaults } from './checks/api-faults.ts'
import { comingBack } from './checks/coming-back.ts'
import { cookie } from './checks/cookie.ts'
import { exchange } from './checks/exchange.ts'
import { log } from './checks/log.ts'
import { pages } from './checks/pages.ts'
import { portalFaults } from './checks/portal-faults.ts'
import { signingOut } from './checks/signing-out.ts'
import { startingALogin } from './checks/starting-a-login.ts'
import { stayingSignedIn } from './checks/staying-signed-in.ts'
import { tabs } from './checks/tabs.ts'

export const checks: Check[] = [
  startingALogin,
  comingBack,
  exchange,
  cookie,
  stayingSignedIn,
  tabs,
  signingOut,
  pages,
  portalFaults,
  apiFaults,
  log,
].flat()
