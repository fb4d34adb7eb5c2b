// Lists the mistakes that tests give the small client, by group. A mistake belongs to the group of the first check that
// it names.
import type { Mistake } from './mistake.ts'
import { apiAnswers } from './mistakes/api-answers.ts'
import { apiFaults } from './mistakes/api-faults/api-faults.ts'
import { callback } from './mistakes/callback/callback.ts'
import { cookie } from './mistakes/cookie.ts'
import { exchange } from './mistakes/exchange.ts'
import { log } from './mistakes/log.ts'
import { metadata } from './mistakes/metadata.ts'
import { name } from './mistakes/name.ts'
import { nextVisitor } from './mistakes/next-visitor.ts'
import { opaqueTokens } from './mistakes/opaque-tokens.ts'
import { pages } from './mistakes/pages/pages.ts'
import { portalFaults } from './mistakes/portal-faults.ts'
import { rawRequests } from './mistakes/raw-requests.ts'
import { realBrowser } from './mistakes/real-browser.ts'
import { renewal } from './mistakes/renewal.ts'
import { renewalFaults } from './mistakes/renewal-faults.ts'
import { signingOut } from './mistakes/signing-out.ts'
import { startingALogin } from './mistakes/starting-a-login.ts'
import { stayingSignedIn } from './mistakes/staying-signed-in.ts'
import { tabs } from './mistakes/tabs.ts'
import { time } from './mistakes/time.ts'
import { wholeRun } from './mistakes/whole-run.ts'

/**
 * All mistakes, except mistakes that need https (https-mistakes.ts). Each mistake is the small client with one change,
 * and names the checks that must find it.
 */
export const mistakes: Mistake[] = [
  startingALogin,
  callback,
  exchange,
  cookie,
  stayingSignedIn,
  renewal,
  renewalFaults,
  tabs,
  signingOut,
  nextVisitor,
  time,
  opaqueTokens,
  name,
  rawRequests,
  pages,
  metadata,
  portalFaults,
  apiFaults,
  apiAnswers,
  log,
  wholeRun,
  realBrowser,
].flat()
