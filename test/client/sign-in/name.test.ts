// The visitor's name (the portal's /api/me): the client asks for the name once after a login, and works without a name.

import t, { type Test } from 'tap'
import { startTexts } from '../../../src/client/start-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { timed } from '../../support/stopwatch.ts'
import type { TestBrowser } from '../../support/test-browser.ts'
import { buildTestClient, signIn } from '../support/build-test-client.ts'
import { hostileTexts } from '../support/hostile-texts.ts'
import { textOf, unescapeHtml } from '../support/read-form.ts'
import { accessTokenOf, giveTokens, type Script, send } from '../support/scripted-platform.ts'

const jane: Script = { body: { '@id': 'visitor-1', firstName: 'Jane', lastName: 'Doe' } }

function buildWithName(t: Test, answer: Script, token?: string) {
  const tokens = giveTokens(token ? { access_token: token } : {})
  return buildTestClient(t, {
    scripts: { 'GET /things': { body: [] }, 'GET /api/me': answer, 'POST /api/exchangeToken': tokens },
  })
}

/** The name of the signed-in visitor on the page. */
async function nameOn(browser: TestBrowser, path = '/page'): Promise<string | undefined> {
  const { body } = await browser.get(path, { site: 'same-origin' })
  const name = /<span class="who"[^>]*>[^<]*<b>([^<]*)<\/b>/.exec(body)?.[1]
  return name === undefined ? undefined : unescapeHtml(name)
}

t.test(
  'F-20: the session cookie ends with the access token, even if the name arrives later than the tokens',
  async t => {
    const { browser, platform, clock } = await buildWithName(t, jane)
    platform.answer('GET /api/me', (_request, response) => {
      clock.advance(60)
      send(response, { body: { '@id': 'visitor-1', firstName: 'Jane', lastName: 'Doe' } })
    })
    const page = await signIn(browser)
    t.equal(page.cookies.find(({ name }) => name === '__Host-session')?.maxAge, 3600 - 60)
  },
)

t.test('name-once: the client asks for the name once, with the access token, and shows it on every page', async t => {
  const { browser, platform, clock } = await buildWithName(t, jane)
  await signIn(browser)
  t.equal(await nameOn(browser), 'Jane Doe')
  t.equal(await nameOn(browser, '/'), 'Jane Doe')
  t.match(textOf(await browser.get('/')), startTexts.welcome('Jane Doe'))
  clock.advance(3600 - 30)
  t.equal(await nameOn(browser), 'Jane Doe', 'the name must stay after a renewal')
  clock.advance(3601)
  t.equal(await nameOn(browser, '/'), 'Jane Doe', 'the name must be on a page that does not renew the session')
  t.equal(await nameOn(browser), 'Jane Doe', 'the name must stay after a renewal with only the refresh token')
  const asked = platform.received('GET /api/me')
  t.equal(asked.length, 1)
  t.match(asked[0]?.headers.authorization, /^Bearer eyJ/)
})

t.test(
  'name-once: a name that does not fit into the refresh cookie stays if the session is renewed before it expires',
  async t => {
    const userId = '0b7c2a52-6f0e-4c43-9a3f-2b9a4c1d7e10'
    const { browser, clock, platform } = await buildTestClient(t, {
      scripts: {
        'GET /things': { body: [] },
        'GET /api/me': { body: { '@id': userId, firstName: 'Александра', lastName: 'Константиновна' } },
        'POST /api/exchangeToken': giveTokens({ access_token: accessTokenOf(userId), refresh_token: 'r'.repeat(30) }),
      },
    })
    await signIn(browser)
    clock.advance(3600 - 30)
    t.equal(await nameOn(browser), 'Александра Константиновна')
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the page must renew the session')
    t.equal(await nameOn(browser), 'Александра Константиновна')

    platform.answer('GET /things', (_request, response) => {
      const isFirst = platform.received('GET /things').length === 3
      send(response, isFirst ? { status: 401, body: {} } : { body: [] })
    })
    clock.advance(60)
    t.equal(await nameOn(browser), 'Александра Константиновна')
    t.equal(platform.received('POST /api/exchangeToken').length, 3, 'the 401 answer must renew the session')
    t.equal(await nameOn(browser), 'Александра Константиновна')
  },
)

for (const [what, answer] of Object.entries<Script>({
  'is refused': { status: 403, body: { error: 'Permission denied' } },
  'gets a 404 answer': { status: 404, body: '' },
  'gets a redirect': { status: 302, headers: { location: 'http://elsewhere.test/' }, body: '' },
  'gets values that are not strings': { body: { firstName: { toString: 'Jane' }, lastName: ['Doe'] } },
  'gets a list': { body: ['Jane'] },
  'gets an empty name': { body: { firstName: ' ', lastName: '\u202e\u0000' } },
  'gets a name with status 500': { status: 500, body: { firstName: 'Jane' } },
  'never gets an answer': () => {},
  'breaks off': (_request, response) => response.destroy(),
})) {
  t.test(
    `name-is-optional: if the request for the name ${what}, the login succeeds and the page shows the id`,
    async t => {
      const { browser } = await buildWithName(t, answer)
      const [{ body }, took] = await timed(signIn(browser))
      t.match(body, webTexts.continue.title)
      t.ok(took.own < 3, 'the login must not wait much longer than the deadline of one second')
      t.equal(await nameOn(browser), 'visitor-1')
      t.match(textOf(await browser.get('/')), startTexts.welcomeWithoutName)
    },
  )
}

for (const [what, name] of Object.entries({ ...hostileTexts, 'of 10,000 characters': 'x'.repeat(10_000) })) {
  t.test(`the pages escape or shorten a hostile name (${what})`, async t => {
    const { browser } = await buildWithName(t, { body: { firstName: name, lastName: name } })
    await signIn(browser)
    const { body, statusCode } = await browser.get('/page', { site: 'same-origin' })
    t.equal(statusCode, 200)
    t.notMatch(body, /<script>|<img src=x|javascript:/i)
    const shown = (await nameOn(browser))!
    t.ok([...shown].length <= 40, `${[...shown].length} characters`)
    t.notMatch(shown, /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u)
  })
}

t.test('a name in another alphabet or with joining characters is shown unchanged', async t => {
  for (const name of ['Анна Ёлкина', 'می‌خواهم', 'Zoë O’Brien-Smith', '李 小龙', '👩‍🚀 Ada']) {
    const { browser } = await buildWithName(t, { body: { firstName: name } })
    await signIn(browser)
    t.equal(await nameOn(browser), name)
  }
})

t.test(
  'CK-03: if the name would make the session too long for its cookies, the session does not contain the name',
  async t => {
    for (const [length, isShown] of [
      [3300, true],
      [3500, false],
    ] as const) {
      const { browser } = await buildWithName(t, { body: { firstName: '𝒜'.repeat(40) } }, 'x'.repeat(length))
      const answer = await signIn(browser)
      t.equal(answer.statusCode, 200)
      for (const { name, value } of answer.cookies) {
        t.ok(name.length + value.length <= 4096)
        if (name.startsWith('__Host-refresh')) t.ok(name.length + value.length <= 300)
      }
      t.ok(
        browser.names().some(name => name.startsWith('__Host-refresh-')),
        'the refresh token is kept, without the name',
      )
      t.equal((await nameOn(browser)) === '𝒜'.repeat(40), isShown)
    }
  },
)
