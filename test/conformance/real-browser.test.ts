// Tests with a client whose pages need JavaScript. Without a real browser, checks are undecided. With a real browser,
// the suite judges the client.
import t from 'tap'
import type { Check } from '../../src/conformance/check.ts'
import { checks } from '../../src/conformance/checks.ts'
import type { Result } from '../../src/conformance/result.ts'
import { skip } from '../support/launch-chromium.ts'
import { shareChromium } from '../support/open-page.ts'
import { correct } from './clients/behaviour.ts'
import { buildClient } from './clients/client.ts'
import { judgePairs, listPairs, shuffle } from './clients/judge-mistakes.ts'
import { leaveToScript, needsScript } from './clients/script-client.ts'
import type { Settings } from './clients/visit.ts'
import { openStage } from './support/stage.ts'

const inChromium = checks.filter(({ group }) => group === 'real-browser')
const buildScriptClient = (settings: Settings) => buildClient(settings, { ...correct, ...needsScript })
/**
 * Shares one Chromium with all tests. A page in this Chromium needs less CPU time than a page in the Chromium
 * that the command starts.
 */
const shared = { shareChromium: () => shareChromium('chromium') }
const tell = ({ id, verdict, reason }: Result) => `${id} ${verdict}: ${reason}`

// A whole run takes long, so each of the four clients below is judged by a different quarter of the checks.
const seed = Number(process.env.CHECKS_SEED ?? Math.floor(Math.random() * 2 ** 32))
const shuffled = shuffle(checks, seed)
const quarter = (number: number) => shuffled.filter((_, index) => index % 4 === number)
const again = `again: CHECKS_SEED=${seed}`
const isBlamed = ({ verdict }: Result) => verdict === 'failed' || verdict === 'warned'

t.test('without a real browser, a client that needs JavaScript fails no check', async t => {
  const stage = await openStage([], { hasBrowser: false })
  t.teardown(stage.close)
  const loginWorks = checks.find(({ id }) => id === 'login-works')!
  const results = await stage.judgeRun(buildScriptClient, [...new Set([loginWorks, ...inChromium, ...quarter(0)])])
  t.same(results.filter(isBlamed).map(tell), [], again)
  const login = results.find(({ id }) => id === loginWorks.id)!
  t.equal(login.verdict, 'not run')
  t.match(login.reason, /has a script that may redirect the browser, .* Run the suite with --browser chromium/)
  t.ok(inChromium.every(({ id }) => results.find(one => one.id === id)?.verdict === 'not applicable'))
})

t.test(
  'in a run without a real browser, no check fails for a client that needs JavaScript for the start of a login, the callback or its pages',
  async t => {
    for (const [at, task] of (['start', 'callback', 'pages'] as const).entries()) {
      const stage = await openStage([], { hasBrowser: false })
      t.teardown(stage.close)
      const build = (settings: Settings) => buildClient(settings, { ...correct, ...leaveToScript(task) })
      const results = await stage.judgeRun(build, quarter(at + 1))
      t.same(results.filter(isBlamed).map(tell), [], `${task} (${again})`)
    }
  },
)

t.test(
  'in Chromium, a correct client that needs JavaScript passes every check of the group real-browser',
  { skip },
  async t => {
    const stage = await openStage([], shared)
    t.teardown(stage.close)
    const results = await stage.judgeRun(buildScriptClient, inChromium)
    t.same(results.filter(({ verdict }) => verdict !== 'passed').map(tell), [])
    t.equal(results.length, inChromium.length)
  },
)

t.test(
  'a correct client passes the checks if the suite starts Chromium as the conformance command does',
  { skip },
  async t => {
    const stage = await openStage()
    t.teardown(stage.close)
    const ids = ['chromium-login', 'chromium-reload-and-back', 'chromium-back-after-sign-out']
    const results = await stage.judgeRun(
      buildScriptClient,
      checks.filter(({ id }) => ids.includes(id)),
    )
    t.same(
      results.map(({ verdict }) => verdict),
      ['passed', 'passed', 'passed'],
    )
  },
)

t.test(
  'in Chromium, a correct client that needs no JavaScript passes every check of the group real-browser',
  { skip },
  async t => {
    const stage = await openStage([], shared)
    t.teardown(stage.close)
    const results = await stage.judgeRun(settings => buildClient(settings, correct), inChromium)
    t.same(results.filter(({ verdict }) => verdict !== 'passed').map(tell), [])
  },
)

t.test(
  'in Chromium, the checks of the group real-browser find every mistake that they must find',
  { skip },
  async t => {
    const isOfGroup = ({ id }: Check) => inChromium.some(one => one.id === id)
    const judged = await judgePairs(
      listPairs().filter(({ check }) => isOfGroup(check)),
      { sideBySide: 2, ...shared },
    )
    for (const { isFound, said } of judged) t.ok(isFound, said)
    t.same(new Set(judged.map(({ check }) => check.id)), new Set(inChromium.map(({ id }) => id)))
  },
)
