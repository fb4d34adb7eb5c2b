// Tests the checks that expect the client to refuse something. If a client refuses everything, these checks must not
// pass, because the refusals prove nothing.
import t, { type Test } from 'tap'
import type { Check } from '../../src/conformance/check.ts'
import { checks } from '../../src/conformance/checks.ts'
import { type Behaviour, correct } from './clients/behaviour.ts'
import { buildClient } from './clients/client.ts'
import { Refusal } from './clients/visit.ts'
import { openStage } from './support/stage.ts'

/** Judges a client with this change. Fails if one of the checks passes. */
async function testNonePasses(t: Test, change: Partial<Behaviour>, some: Check[], options: string[] = []) {
  const stage = await openStage(options, { hasBrowser: false })
  t.teardown(stage.close)
  const results = await stage.judge(settings => buildClient(settings, { ...correct, ...change }), some)
  t.ok(results.length > 20, `${results.length} checks expect a refusal`)
  t.same(
    results.filter(({ verdict }) => verdict === 'passed').map(({ id, title }) => `${id}: ${title}`),
    [],
  )
}

const refusesCallbacks: Partial<Behaviour> = {
  async beforeState() {
    throw new Refusal(400, 'This client refuses every callback.')
  },
}

t.test('a client that refuses every callback passes no check that expects a refused callback', async t => {
  const words =
    /refuses a|makes? no exchange|does not (exchange|use the code|send this code|send the visitor to)|redirect_uri/
  // A check that tests only the page for a refused callback is allowed to pass.
  const expected = checks.filter(
    ({ group, title }) => group === 'callback' && words.test(title) && !/with a page|shows a page/.test(title),
  )
  await testNonePasses(t, refusesCallbacks, expected, ['--page', ''])
})

t.test('if a client refuses every form, it does not pass the checks that expect it to refuse a form', async t => {
  const forms = [
    /^(raw-)?logout-(csrf|not-by|similar|foreign-host|without-origin|other-type)/,
    /^(raw-)?create-(by-get|cross-site|same-site|forged|no-session$|other-visitor|similar|without-origin|planted)/,
    /^(raw-)?(create|edit)-(wrong|other)-type|^forms-(no-session$|forged|other|old-browser)|^edit-overtaken/,
    /^(tabs-signed-out-meanwhile|time-form-ends-at-server|form-id|raw-body-long)$/,
  ]
  const expected = checks.filter(({ id }) => forms.some(form => form.test(id)))
  await testNonePasses(t, { isFromHere: () => false }, expected)
})

t.test('a client that makes no exchange does not pass the checks that need one', async t => {
  const stage = await openStage(['--page', ''], { hasBrowser: false })
  t.teardown(stage.close)
  const noExchange = checks.filter(({ id }) => ['exchange-refused-no-loop', 'exchange-odd-answers'].includes(id))
  const results = await stage.judge(settings => buildClient(settings, { ...correct, ...refusesCallbacks }), noExchange)
  for (const { id, verdict } of results) t.equal(verdict, 'undecided', id)
})

t.test(
  'if a client makes no further exchange after the first failure, `exchange-redirect-others` is undecided',
  async t => {
    const stage = await openStage([], { hasBrowser: false })
    t.teardown(stage.close)
    let callbacks = 0
    const waitsAfterTheFirst: Partial<Behaviour> = {
      async beforeState() {
        if (callbacks++ > 0) throw new Refusal(503, 'Try again later.')
      },
    }
    const [result] = await stage.judge(
      settings => buildClient(settings, { ...correct, ...waitsAfterTheFirst }),
      checks.filter(({ id }) => id === 'exchange-redirect-others'),
    )
    t.match(result, { verdict: 'undecided', reason: /did not affect any exchange/ })
  },
)
