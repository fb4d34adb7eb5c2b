// The sequence diagram on the page of a login: the recorded messages in order, and the messages that the laboratory can
// only infer.
import t from 'tap'
import { diagramOf } from '../../../src/sandbox/lab/pages/diagram.ts'
import type { RecordedStep } from '../../../src/sandbox/lab/record/recorded.ts'
import { findViolations, ofColours } from '../../support/find-violations.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { exchange, locationOf, logIn, openBrowser, signIn } from '../support/browser.ts'
import { buildTestLab } from '../support/call-lab.ts'
import { fault, login, step } from './support/recorded-steps.ts'

const addresses = {
  portalUrl: 'http://127.0.0.1:4000',
  apiUrl: 'http://127.0.0.1:4001',
  labUrl: 'http://127.0.0.1:4002',
}
const rowsOf = (...steps: RecordedStep[]) => diagramOf(login(...steps), addresses).rows

const back = (code: string) => `http://localhost:3000/exchangeToken?${new URLSearchParams({ code })}`
const exchangeOf = (code: string, atMs = 0) =>
  step('exchange', { body: { code } }, { atMs, answer: { access_token: 'a' } })

t.test(
  'the diagram of a login draws each request from the sender to the portal or the API, and each answer in the other direction',
  async t => {
    const rows = rowsOf(step('authorize'), step('exchange'), step('api', {}, { method: 'GET', route: '/apps/v1' }))
    t.match(
      rows.map(({ sent, answer }) => [sent, answer]),
      [
        [
          { from: 'browser', to: 'portal', words: 'Begins the login' },
          { from: 'portal', to: 'browser' },
        ],
        [
          { from: 'client', to: 'portal', words: 'Exchanges the code' },
          { from: 'portal', to: 'client' },
        ],
        [
          { from: 'client', to: 'api', words: 'GET /apps/v1' },
          { from: 'api', to: 'client', words: 'OK' },
        ],
      ],
    )
  },
)

t.test('the diagram of a login shows the status, the content and the duration of each answer', async t => {
  const [code, error, tokens, refused, cut] = rowsOf(
    step('consent', {}, { status: 303, location: back('one'), durationMs: 7 }),
    step('consent', {}, { status: 303, location: 'http://localhost:3000/cancelled?error=access_denied' }),
    exchangeOf('two'),
    step('exchange', {}, { status: 401, reason: 'code-unknown' }),
    step('exchange', {}, { status: 0, fault: fault('exchange-reset') }),
  )
  t.match(code!.answer, { symbol: '✓', status: '303', words: /to the client, with a code/, afterMs: 7 })
  t.match(error!.answer, { words: /to the client, with an error/ })
  t.match(tokens!.answer, { status: '200', words: 'Issues tokens' })
  t.match(refused!.answer, { symbol: '✗', status: '401', words: 'Unauthorized' })
  t.match(cut!.answer, { symbol: '⚡', status: 'no answer', words: '' })
})

t.test('in the diagram of a login, a request without an answer is marked as failed', async t => {
  const [start] = rowsOf(step('authorize', {}, { status: 0 }))
  t.match(start!.answer, { symbol: '✗', status: 'no answer', words: '' })
})

t.test('the diagram of a login shows the time from the answer of one step to the request of the next step', async t => {
  const rows = rowsOf(
    step('authorize', {}, { atMs: 0, durationMs: 10 }),
    step('sign-in', {}, { atMs: 1_260, durationMs: 40 }),
    step('consent', {}, { atMs: 301_300 }),
    step('api', {}, { atMs: 301_200 }),
  )
  t.same(
    rows.map(({ pause }) => pause),
    [undefined, '1,250 ms later', '300 s later', 'before the previous answer'],
  )
})

t.test(
  'the diagram of a login shows an unrecorded message only if a later request proves that the message was sent',
  async t => {
    const [start, given, exchanged] = rowsOf(
      step('authorize'),
      step('consent', {}, { status: 303, location: back('code-1') }),
      exchangeOf('code-1'),
    )
    t.match(start!.before, { from: 'client', to: 'browser' })
    t.match(given!.after, { from: 'browser', to: 'client', words: 'Brings the code' })
    t.equal(given!.isArrivalUnknown, false)
    t.same([exchanged!.before, exchanged!.after], [undefined, undefined])

    const lost = rowsOf(
      step('authorize'),
      step('authorize'),
      step('consent', {}, { status: 303, location: back('code-2') }),
      exchangeOf('another'),
    )
    t.equal(lost[1]!.before, undefined, 'the browser can repeat the login request without the client')
    t.equal(lost[2]!.after, undefined, 'nobody has exchanged the code, so no request proves that the code has arrived')
    t.equal(lost[2]!.isArrivalUnknown, true)
  },
)

t.test(
  'the page of a login shows the checks of every step: failed checks are open, and passed checks are collapsed',
  async t => {
    const { sandbox, lab } = await buildTestLab(t)
    await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '', state: 'another' })
    const [{ id, verdict }] = (await lab('GET', 'logins')).json().logins
    const url = `/logins/${id}`
    const page = (await sandbox.lab!.inject({ url, headers: { host: '127.0.0.1:4002' } })).body
    const { number } = verdict.step
    const [, failed = ''] = page.split(`id="step-${number}"`)
    t.match(page, `href="#step-${number}"`, 'the sentence links to the step')
    const [open = '', collapsed = ''] = failed.split('<details>')
    t.match(open, `Step ${number}. Client to Portal: `)
    t.match(open, /✗ 401<\/strong> Unauthorized, after \d+ ms/)
    t.match(open, '✗ state')
    t.notMatch(open, '✓ code')
    t.match(collapsed, /<summary>\d checks passed/)
    t.match(collapsed, '✓ code')
    t.match(page, 'Brings the code <em>inferred</em>')
    t.notMatch(page, /\sstyle=/, 'the Content-Security-Policy of the page forbids style attributes')
  },
)

t.test('if steps of a login were left out, the diagram has a mark at their position', async t => {
  const { sandbox, lab } = await buildTestLab(t)
  const { access_token: token } = (
    await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '', state: 'a-state' })
  ).json()
  const headers = { authorization: `Bearer ${token}` }
  for (let count = 0; count < 60; count++) await sandbox.api.inject({ url: '/apps/v1', headers })
  const [{ id }] = (await lab('GET', 'logins')).json().logins
  const { steps, leftOut } = (await lab('GET', `logins/${id}`)).json()
  const index = steps.findIndex(({ leftOutBefore }: { leftOutBefore: number }) => leftOutBefore > 0)
  t.equal(steps[index].leftOutBefore, leftOut)
  t.match([steps[index - 1].kind, steps[index].kind], ['exchange', 'api'])
  const page = (await sandbox.lab!.inject({ url: `/logins/${id}`, headers: { host: '127.0.0.1:4002' } })).body
  const between = page.slice(page.indexOf(`id="step-${index}"`), page.indexOf(`id="step-${index + 1}"`))
  t.match(between, `${leftOut} steps were left out here, to save memory.`)

  const { leftOutAtEnd } = diagramOf({ ...login(step('authorize')), leftOut: 3 }, addresses)
  t.equal(leftOutAtEnd, 3, 'the mark must come after the last step if no step has followed')
})

t.test(
  'without JavaScript, the accessibility tree contains the steps of the diagram in order, and the link in the verdict leads to its step',
  { skip },
  async t => {
    const { sandbox } = await buildTestLab(t)
    const browser = openBrowser(sandbox)
    const answer = await browser.submit(await signIn(browser), { decision: 'allow' })
    await exchange(sandbox, { code: new URL(locationOf(answer)).searchParams.get('code') ?? '', state: 'another' })
    await sandbox.lab!.listen({ host: '127.0.0.1', port: 0 })
    const { port } = sandbox.lab!.server.address() as { port: number }
    const { page } = await openPage(t, { javaScriptEnabled: false, viewport: { width: 320, height: 800 } })
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.getByRole('link', { name: 'Reference client' }).first().click()

    const tree = await page.locator('.diagram').ariaSnapshot()
    const order = [
      'Client to Browser: Sends the browser to the portal',
      'heading "Step 1. Browser to Portal: Begins the login"',
      'Portal to Browser:',
      'heading "Step 2. Browser to Portal: Signs in"',
      'Browser to Client: Brings the code',
      'Client to Portal: Exchanges the code"',
      '✗ 401',
      'The state of the exchange differs',
    ].map(words => tree.indexOf(words))
    t.ok(!order.includes(-1), tree)
    t.same(
      order,
      order.toSorted((one, other) => one - other),
    )
    t.equal(tree.match(/- list:/g)?.length, 1, 'the diagram must be one list')
    t.notMatch(tree, 'img', 'the diagram must not be an image')

    const outlineOf = (id: string) => page.evaluate(`getComputedStyle(document.querySelector('${id}')).outlineStyle`)
    const step = (await page.locator('.verdict .sentence a').getAttribute('href'))!
    t.equal(await outlineOf(step), 'none')
    await page.locator('.verdict .sentence a').click()
    t.equal(await outlineOf(step), 'solid')
    const [top, lanes] = await Promise.all([
      page.locator(step).boundingBox(),
      page.locator('.lane-names').boundingBox(),
    ])
    t.ok(top!.y >= lanes!.y + lanes!.height - 1, `${top!.y}: the names of the lanes do not cover the step`)
  },
)

t.test(
  'each arrow of the diagram goes from the middle of one lane to the middle of another lane, even with forced colours',
  { skip },
  async t => {
    const { sandbox } = await buildTestLab(t)
    await exchange(sandbox, { code: (await logIn(sandbox)).get('code') ?? '', state: 'another' })
    await sandbox.lab!.listen({ host: '127.0.0.1', port: 0 })
    const { port } = sandbox.lab!.server.address() as { port: number }
    for (const forcedColors of ['none', 'active'] as const)
      for (const width of [320, 1280]) {
        const { page } = await openPage(t, { forcedColors, viewport: { width, height: 800 } })
        await page.goto(`http://127.0.0.1:${port}/`)
        await page.getByRole('link', { name: 'Reference client' }).first().click()
        await page.waitForURL('**/logins/*')
        await page.waitForLoadState('load')
        const middles = (await page.evaluate(`[...document.querySelectorAll('.lane-names span')].map(one => {
        const { left, right } = one.getBoundingClientRect()
        return (left + right) / 2
      })`)) as number[]
        const arrow = await page.locator('.failed .from-client.to-portal:not(.inferred) .arrow').first().boundingBox()
        const seen = `${forcedColors}, ${width} pixels`
        t.ok(Math.abs(arrow!.x - middles[1]!) < 2, `${seen}: it begins at the client`)
        t.ok(Math.abs(arrow!.x + arrow!.width - middles[2]!) < 2, `${seen}: it ends at the portal`)
        const line = (await page.evaluate(`(() => {
          const { borderBottomWidth, borderBottomColor } = getComputedStyle(document.querySelector('.failed .arrow'))
          return borderBottomWidth + ' ' + borderBottomColor
        })()`)) as string
        t.match(line, /^2px/, seen)
        t.notMatch(line, /rgba\(0, 0, 0, 0\)/, seen)
        t.strictSame(await findViolations(page, width === 320 ? {} : ofColours), [], seen)
      }
  },
)
