// Whatever the API answers and whatever a browser sends, the client answers with a page and does not crash.
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { publicUrl, signIn, TestClock } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

// Each run tests 100 new random values. This is enough, because the runs together test many values.
const runs = { numRuns: 100 }
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', maxLength: 3_000 }),
  fc.constantFrom('<script>alert(1)</script>', '"><img src=x>', '__proto__', '%E0%A4%A', '\u0000', '\u2028', '\ud800'),
)
const anyValue = fc.oneof(fc.jsonValue({ maxDepth: 4 }), anyText)
const anyRecord = fc.record(
  {
    '@id': fc.oneof(fc.constant('app-1'), anyValue),
    data: fc.oneof(
      fc.record(
        { name: anyValue, description: anyValue, webPageUrl: anyValue, iconUrl: anyValue },
        { requiredKeys: [] },
      ),
      anyValue,
    ),
    metadata: fc.oneof(fc.record({ createdAt: anyValue, updatedAt: anyValue }), anyValue),
    inLinks: fc.oneof(
      fc.array(fc.oneof(fc.record({ '@type': fc.constant('DeveloperOf'), from: anyValue }), anyValue)),
      anyValue,
    ),
    client: fc.oneof(fc.record({ redirectUris: anyValue, defaultRedirectUri: anyValue, scopes: anyValue }), anyValue),
  },
  { requiredKeys: [] },
)
const anyField = fc.constantFrom(
  'formToken',
  'isClientKnown',
  'missing',
  'groupId',
  'name',
  'description',
  'webPageUrl',
  'iconUrl',
  'privacyPolicyUrl',
  'redirectUris',
  'defaultRedirectUri',
  'scopes',
  'defaultScopes',
  '__proto__',
  'constructor',
  'name[]',
  'toString',
)
const anyForm = fc.array(fc.tuple(fc.oneof(anyField, anyText), anyText), { maxLength: 20 })

async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  api.records.set('app-1', applicationRecord('app-1'))
  const test = await buildApplicationsClient(t, { clock, scripts: api.scripts, environment: { LOG_LEVEL: 'silent' } })
  test.platform.answer('PUT /apps/v1/app-1', { body: applicationRecord('app-1') })
  await signIn(test.browser)
  return test
}

/** Checks that this is a page of the client: HTML with an expected status, and without markup from the random text. */
function isPage({ statusCode, headers, body }: { statusCode: number; headers: object; body: string }): boolean {
  const isRedirect = statusCode === 302 || statusCode === 303
  const isHtml = /^text\/html; charset=utf-8$/.test(String((headers as Record<string, unknown>)['content-type']))
  const hasForeignMarkup = /<script>|<img src=x/.test(body)
  return (statusCode < 500 || [502, 503, 504].includes(statusCode)) && (isRedirect || isHtml) && !hasForeignMarkup
}

t.test(
  'F-44: whatever JSON the API returns as the list of applications, the client shows a list or an error page',
  async t => {
    const { browser, platform } = await start(t)
    const anyList = fc.oneof(fc.array(fc.oneof(anyRecord, anyValue)).map(collection), anyValue)
    await fc.assert(
      fc.asyncProperty(anyList, async body => {
        platform.answer('GET /apps/v1', { body: JSON.stringify(body) })
        const page = await browser.get('/applications')
        return isPage(page) && (page.statusCode === 200 || page.statusCode === 502)
      }),
      runs,
    )
    t.pass('100 lists')
  },
)

t.test(
  'F-44: whatever JSON the API returns as an application, the visitor can open and edit the application, or gets an error page',
  async t => {
    const { browser, platform } = await start(t)
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyRecord, anyValue), async body => {
        platform.answer('GET /apps/v1/app-1', { body: JSON.stringify(body) })
        for (const path of ['/applications/app-1', '/applications/app-1/edit', '/applications/app-1/delete']) {
          const page = await browser.get(path)
          if (!isPage(page) || (page.statusCode !== 200 && page.statusCode !== 502)) return false
        }
        return true
      }),
      runs,
    )
    t.pass('100 applications')
  },
)

t.test('F-18: any status and body of the API leads to a page with an expected status', async t => {
  const { browser, platform } = await start(t)
  const anyStatus = fc.integer({ min: 200, max: 599 }).filter(status => status !== 204 && status !== 304)
  const anyType = fc.constantFrom(
    'application/json',
    'application/problem+json',
    'text/html',
    'application/octet-stream',
  )
  const anyRetry = fc.constantFrom('1', '0', '-1', '1e9', '999999999999999', 'Wed, 21 Oct 2026 07:28:00 GMT', 'soon')
  const anyFault = fc.record({ error: fc.oneof(anyValue, fc.record({ status: anyValue, message: anyValue })) })
  await fc.assert(
    fc.asyncProperty(anyStatus, anyType, anyRetry, fc.oneof(anyFault, anyValue), async (status, type, retry, body) => {
      const headers = { 'content-type': type, 'retry-after': retry }
      platform.answer('GET /apps/v1', { status, headers, body: JSON.stringify(body) })
      // A 401 answer ends the session, so each run uses its own copy of the signed-in browser.
      return isPage(await browser.copy().get('/applications'))
    }),
    runs,
  )
  t.pass('100 answers')
})

for (const [action, call] of [
  ['/applications', 'POST /apps/v1'],
  ['/applications/app-1/edit', 'PUT /apps/v1/app-1'],
] as const) {
  const path = action === '/applications' ? '/applications/new' : action
  t.test(
    `DO-05: whatever form a browser sends to ${action}, the client does what the form asks for, or shows the form again`,
    async t => {
      const { browser, platform, client } = await start(t)
      const { formToken } = readForm(await browser.get(path), action)
      const send = (payload: string) =>
        client.inject({
          method: 'POST',
          url: action,
          payload,
          headers: {
            cookie: browser.cookieHeader(),
            origin: publicUrl,
            'content-type': 'application/x-www-form-urlencoded',
          },
        })
      await fc.assert(
        fc.asyncProperty(anyForm, fc.boolean(), async (fields, hasToken) => {
          const token: [string, string][] = hasToken ? [['formToken', formToken!]] : []
          return isPage(await send(new URLSearchParams([...token, ...fields]).toString()))
        }),
        runs,
      )
      await fc.assert(
        fc.asyncProperty(anyText, async bytes => isPage(await send(bytes))),
        runs,
      )
      for (const { body } of platform.received(call))
        t.ok(JSON.parse(body).data.name, 'the client must not send an application without a name')
    },
  )

  t.test(`F-44: whatever field errors the API returns for ${action}, the page shows them`, async t => {
    const { browser, platform } = await start(t)
    const form = readForm(await browser.get(path), action)
    const anyMessages = fc.dictionary(fc.oneof(anyField, anyText), fc.oneof(fc.array(anyText), anyValue))
    await fc.assert(
      fc.asyncProperty(anyMessages, async message => {
        platform.answer(call, { status: 422, body: JSON.stringify({ error: { status: 422, message } }) })
        const page = await browser.post(action, { ...form, name: 'Weather', redirectUris: 'https://weather.test/back' })
        return isPage(page) && page.statusCode === 422 && readForm(page, action).name === 'Weather'
      }),
      runs,
    )
    t.pass('100 faults')
  })
}

t.test('DO-12: any search, page number or id in an address leads to a page', async t => {
  const { browser } = await start(t)
  await fc.assert(
    fc.asyncProperty(anyText, anyText, async (q, page) => {
      const query = new URLSearchParams({ q: q.slice(0, 1_000), page: page.slice(0, 100) })
      const id = encodeURIComponent(q.toWellFormed())
      return isPage(await browser.get(`/applications?${query}`)) && isPage(await browser.get(`/applications/!${id}`))
    }),
    runs,
  )
  t.pass('100 addresses')
})
