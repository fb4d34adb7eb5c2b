// Lists mistakes of real clients as faults. Each fault is the small client with one mistake.
import { apiAnswers } from './api-answers.ts'
import { apiFaults } from './api-faults.ts'
import { callback } from './callback.ts'
import { cookie } from './cookie.ts'
import { errorAnswers } from './error-answers.ts'
import { everyCall } from './every-call.ts'
import { everyForm } from './every-form.ts'
import { everyPage } from './every-page.ts'
import { exchange } from './exchange.ts'
import type { Fault } from './fault.ts'
import { formHandling } from './form-handling.ts'
import { log } from './log.ts'
import { loginBranches } from './login-branches.ts'
import { loginWays } from './login-ways.ts'
import { metadata } from './metadata.ts'
import { name } from './name.ts'
import { nextVisitor } from './next-visitor.ts'
import { occasions } from './occasions.ts'
import { opaqueTokens } from './opaque-tokens.ts'
import { otherPlaces } from './other-places.ts'
import { otherWays } from './other-ways.ts'
import { pages } from './pages.ts'
import { peopleAndPages } from './people-and-pages.ts'
import { platformFailures } from './platform-failures.ts'
import { portalFaults } from './portal-faults.ts'
import { rawRequests } from './raw-requests.ts'
import { realBrowser } from './real-browser.ts'
import { renewalFaults } from './renewal-faults.ts'
import { secondOccasions } from './second-occasions.ts'
import { sessionData } from './session-data.ts'
import { signingOut } from './signing-out.ts'
import { startingALogin } from './starting-a-login.ts'
import { stayingSignedIn } from './staying-signed-in.ts'
import { tabs } from './tabs.ts'
import { time } from './time.ts'
import { trusting } from './trusting.ts'
import { wholeRun } from './whole-run.ts'

/** The table of all faults. Each fault names the checks that must find it. */
export const faults: Fault[] = [
  startingALogin,
  callback,
  exchange,
  cookie,
  stayingSignedIn,
  renewalFaults,
  occasions,
  tabs,
  signingOut,
  nextVisitor,
  time,
  opaqueTokens,
  name,
  rawRequests,
  otherWays,
  otherPlaces,
  loginWays,
  loginBranches,
  pages,
  everyForm,
  formHandling,
  everyPage,
  peopleAndPages,
  metadata,
  portalFaults,
  apiFaults,
  everyCall,
  errorAnswers,
  platformFailures,
  apiAnswers,
  log,
  wholeRun,
  trusting,
  secondOccasions,
  sessionData,
  realBrowser,
].flat()
