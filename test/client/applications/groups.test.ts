// Tests the groups that applications belong to. A visitor without a group creates one in the form.

import t, { type Test } from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { around } from '../../../src/client/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { faultOf, linksOf, readForm, summaryLine, textOf } from '../support/read-form.ts'
import { type Received, type Script, send } from '../support/scripted-platform.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const typed = { name: 'Weather', description: 'Rain & sun', redirectUris: 'https://weather.test/back' }
const own = (to: string, name: string) => ({ to, data: { name, status: 'maker' } })

/** Signs in a visitor without a group, and opens the form. The API remembers new groups. */
async function withoutGroup(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  const groups: unknown[] = []
  const create = (request: Received, response: Parameters<typeof send>[0]) => {
    const id = `group-${groups.length + 1}`
    groups.push(own(id, JSON.parse(request.body).data.name))
    send(response, { status: 201, body: { '@type': 'Group', '@id': id } })
  }
  const scripts: Record<string, Script> = {
    ...api.scripts,
    'GET /identities/v1/visitor-1/links': (_, response) =>
      send(response, { headers: { date: clock.read().toUTCString() }, body: collection(groups) }),
    'POST /identities/v1': create,
  }
  const test = await buildApplicationsClient(t, { clock, scripts })
  await signIn(test.browser)
  const form = { ...readForm(await test.browser.get('/applications/new'), '/applications'), ...typed }
  const made = () => test.platform.received('POST /identities/v1').map(({ body }) => JSON.parse(body))
  return { ...test, api, groups, create, form, made }
}

t.test(
  'a visitor without a group types the name of a new group, and the client creates the group together with the application',
  async t => {
    const { browser, platform, form, made } = await withoutGroup(t)
    t.notOk('groupId' in form)
    t.equal((await browser.post('/applications', { ...form, groupName: ' Weather people ' })).statusCode, 303)
    t.same(made(), [
      {
        context: 'https://standards.oftrust.net/v2/Context/Identity/Group/',
        type: 'Group',
        data: { name: 'Weather people' },
      },
    ])
    t.match(platform.received('POST /identities/v1')[0]!.headers.authorization, /^Bearer /)
    const { data } = JSON.parse(platform.received('POST /apps/v1')[0]!.body)
    t.equal(data.groupId, 'group-1')
    t.notOk('groupName' in data)
    t.match(textOf(await browser.get('/applications/app-1')), 'Weather')
    t.match(
      textOf(await browser.get('/applications/app-1')),
      `Weather people ${around(applicationsTexts.details.groupId)[0]}group-1`,
    )
  },
)

t.test('PG-16: if the name of a new group is missing or too long, the problem is shown next to the field', async t => {
  const { browser, form, made } = await withoutGroup(t)
  for (const [groupName, words] of [
    ['', applicationsTexts.form.required.groupName],
    ['g'.repeat(201), applicationsTexts.form.problems.tooLong(applicationsTexts.form.labels.groupName, 200, 201)],
  ] as const) {
    const page = await browser.post('/applications', { ...form, groupName })
    t.equal(page.statusCode, 422)
    t.equal(faultOf(page, 'groupName'), words)
    t.match(textOf(page, 'problem'), summaryLine(applicationsTexts.form.labels.groupName, words))
    t.hasStrict(readForm(page, '/applications'), { ...typed, groupName })
  }
  t.same(made(), [])
})

for (const [what, answer, words] of [
  [
    'a message about the name',
    { status: 422, body: { error: { status: 422, message: { name: ['Taken.'] } } } },
    'Taken.',
  ],
  [
    'a message about too many groups',
    { status: 422, body: { error: { message: { groupId: ['At most 20.'] } } } },
    'At most 20.',
  ],
  ['status 404', { status: 404, body: {} }, applicationsTexts.form.problems.groupNotCreated],
  ['status 403', { status: 403, body: {} }, applicationsTexts.form.problems.groupNotCreated],
  ['an object without an id', { status: 201, body: {} }, applicationsTexts.form.problems.groupNotCreated],
] as const) {
  t.test(
    `UP-14: if the client requests a new group and the API answers with ${what}, the field shows a message and keeps the typed text`,
    async t => {
      const { browser, platform, form } = await withoutGroup(t)
      platform.answer('POST /identities/v1', answer)
      const page = await browser.post('/applications', { ...form, groupName: 'Weather people' })
      t.equal(page.statusCode, 422)
      t.equal(faultOf(page, 'groupName'), words)
      t.equal(faultOf(page, 'name'), undefined)
      t.hasStrict(readForm(page, '/applications'), { ...typed, groupName: 'Weather people' })
      t.equal(platform.received('POST /apps/v1').length, 0)
    },
  )
}

t.test('if the API creates the new group but refuses the application, the group stays selected', async t => {
  const { browser, platform, form, made } = await withoutGroup(t)
  const accept = platform.script('POST /apps/v1')
  platform.answer('POST /apps/v1', { status: 422, body: { error: { message: { scopes: ['Unknown.'] } } } })
  const page = await browser.post('/applications', { ...form, groupName: 'Weather people', scopes: 'x' })
  t.equal(page.statusCode, 422)
  const again = readForm(page, '/applications')
  t.hasStrict(again, { ...typed, groupId: 'group-1', scopes: 'x' })
  platform.answer('POST /apps/v1', accept)
  t.equal((await browser.post('/applications', { ...again, scopes: '' })).statusCode, 303)
  t.equal(made().length, 1)
})

t.test(
  'F-41: if a form with a new group is delivered twice, the client creates one group and one application',
  async t => {
    const { browser, platform, form, made } = await withoutGroup(t)
    const sent = { ...form, groupName: 'Weather people' }
    const copies = [browser.copy(), browser.copy()]
    const answers = await Promise.all(copies.map(copy => copy.post('/applications', sent)))
    t.same(
      answers.map(({ statusCode }) => statusCode),
      [303, 303],
    )
    t.equal(made().length, 1)
    t.equal(platform.received('POST /apps/v1').length, 1)
  },
)

t.test(
  'F-28: if the API has created a group but the answer was lost, the client finds the group by name and does not create it again',
  async t => {
    const { browser, platform, form, made, groups } = await withoutGroup(t)
    platform.answer('POST /identities/v1', (request, response) => {
      groups.push(own('group-1', JSON.parse(request.body).data.name))
      response.destroy()
    })
    const sent = { ...form, groupName: 'Weather people' }
    const page = await browser.post('/applications', sent)
    t.equal(page.statusCode, 502)
    t.hasStrict(readForm(page, '/applications'), { ...typed, groupId: 'group-1' }, 'the new group must be selected')
    t.equal(
      (await browser.post('/applications', sent)).statusCode,
      303,
      'a request that the browser repeats must have the same result',
    )
    t.equal(made().length, 1)
    t.equal(JSON.parse(platform.received('POST /apps/v1')[0]!.body).data.groupId, 'group-1')
  },
)

t.test(
  'F-28: if the answers about a new group and a new application were lost, and the groups cannot be read, the client creates neither of the two again',
  async t => {
    const { browser, platform, form, api, made } = await withoutGroup(t)
    api.losesAnswers = true
    const lost = await browser.post('/applications', { ...form, groupName: 'Weather people' })
    api.losesAnswers = false
    t.equal(lost.statusCode, 502)
    const again = { ...readForm(lost, '/applications'), groupName: 'Weather people' }
    const links = platform.script('GET /identities/v1/visitor-1/links')
    platform.answer('GET /identities/v1/visitor-1/links', { status: 500, body: '' })
    for (const sent of [
      { ...again, groupId: '' },
      { ...form, groupName: 'Weather people' },
    ]) {
      const page = await browser.post('/applications', sent)
      t.equal(page.statusCode, 502)
      t.match(textOf(page, 'problem'), upstreamTexts.api.failed)
    }
    platform.answer('GET /identities/v1/visitor-1/links', links)
    t.equal((await browser.post('/applications', { ...again, groupId: '' })).headers.location, '/applications/app-1')
    t.equal(made().length, 1)
    t.equal(api.records.size, 1)
  },
)

t.test('if the client cannot read the groups, the typed name of a new group stays in the form', async t => {
  const { browser, platform, form } = await withoutGroup(t)
  const broken = { status: 500, body: '' }
  platform.answer('POST /identities/v1', broken)
  platform.answer('GET /identities/v1/visitor-1/links', broken)
  const page = await browser.post('/applications', { ...form, groupName: 'Weather people' })
  t.equal(page.statusCode, 502)
  t.hasStrict(readForm(page, '/applications'), { ...typed, groupName: 'Weather people' })
})

t.test('the page of an application shows the name and id of its group, or only the id', async t => {
  const { browser, platform, api } = await withoutGroup(t)
  api.records.set('app-1', applicationRecord('app-1'))
  const shown = async () => {
    const {
      form: { labels },
      details,
    } = applicationsTexts
    const text = textOf(await browser.get('/applications/app-1'))
    return text.split(`${labels.groupId} `)[1]?.split(` ${details.created}`)[0]
  }
  const nameAndId = `Same <b>name</b> ${around(applicationsTexts.details.groupId).join(' group-1 ').replace(/ +/g, ' ').trim()}`
  const failures = [
    { status: 404, body: {} },
    { status: 500, body: '' },
  ]
  for (const answer of failures) {
    platform.answer('GET /identities/v1/visitor-1/links', answer)
    t.equal(await shown(), 'group-1')
  }
  platform.answer('GET /identities/v1/visitor-1/links', {
    body: collection([own('group-1', 'Same <b>name</b>'), own('group-2', 'Same <b>name</b>')]),
  })
  t.equal(await shown(), nameAndId)
  for (const answer of failures) {
    platform.answer('GET /identities/v1/visitor-1/links', answer)
    t.equal(await shown(), nameAndId, 'the client must remember the name')
  }
  platform.answer('GET /identities/v1/visitor-1/links', { body: collection([own('group-1', '')]) })
  t.equal(await shown(), 'group-1')
})

t.test('DO-14: after a renewal, the page shows the name of a known group without a third call', async t => {
  const { browser, platform, clock } = await buildApplicationsClient(t)
  platform.answer('GET /apps/v1/app-1', { body: applicationRecord('app-1') })
  platform.answer('GET /identities/v1/visitor-1/links', { body: collection([own('group-1', 'Weather people')]) })
  await signIn(browser)
  t.match(textOf(await browser.get('/applications/app-1')), 'Weather people')
  clock.advance(3_601)
  const calls = platform.received('GET /identities/v1/visitor-1/links').length
  t.match(textOf(await browser.get('/applications/app-1')), 'Weather people')
  t.equal(platform.received('GET /identities/v1/visitor-1/links').length, calls)
})

t.test(
  'the client remembers the name of a group only after the visitor has opened an application of this group',
  async t => {
    const { browser, platform, clock } = await buildApplicationsClient(t)
    const inOtherGroup = applicationRecord('app-2', {}, { inLinks: [{ '@type': 'DeveloperOf', from: 'group-2' }] })
    platform.answer('GET /apps/v1/app-1', { body: applicationRecord('app-1') })
    platform.answer('GET /apps/v1/app-2', { body: inOtherGroup })
    const groups = collection([own('group-1', 'Weather people'), own('group-2', 'Bus people')])
    platform.answer('GET /identities/v1/visitor-1/links', { body: groups })
    await signIn(browser)
    t.match(textOf(await browser.get('/applications/app-1')), 'Weather people')
    clock.advance(3_601)
    const page = textOf(await browser.get('/applications/app-2'))
    t.match(page, 'group-2')
    t.notMatch(page, 'Bus people')
  },
)

t.test(
  'F-23: if the API refuses the access token when the client reads the groups, the client renews the session once and shows the complete page',
  async t => {
    const { browser, platform, api, groups } = await withoutGroup(t)
    api.records.set('app-1', applicationRecord('app-1'))
    groups.push(own('group-1', 'Weather people'))
    let calls = 0
    platform.answer('GET /identities/v1/visitor-1/links', (_, response) =>
      send(response, calls++ === 0 ? { status: 401, body: {} } : { body: collection(groups) }),
    )
    t.match(textOf(await browser.get('/applications/app-1')), 'Weather people')
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the client must send one exchange and one renewal')
  },
)

t.test(
  'F-23: if the API refuses the access token when the client creates a group, the client renews the session once, and the form succeeds',
  async t => {
    const { browser, platform, create, form, made } = await withoutGroup(t)
    let calls = 0
    platform.answer('POST /identities/v1', (request, response) =>
      calls++ === 0 ? send(response, { status: 401, body: {} }) : create(request, response),
    )
    t.equal((await browser.post('/applications', { ...form, groupName: 'Weather people' })).statusCode, 303)
    t.equal(made().length, 2, 'the call must be refused once and succeed once')
    t.equal(platform.received('POST /api/exchangeToken').length, 2, 'the client must send one exchange and one renewal')
  },
)

t.test('if the groups cannot be loaded, the form says why and links to the portal', async t => {
  const { browser, platform, config } = await buildApplicationsClient(t)
  await signIn(browser)
  for (const [answer, problem] of [
    [{ status: 503, body: {} }, upstreamTexts.api.busy()],
    [{ body: 'no JSON' }, upstreamTexts.api.unexpected],
  ] as const) {
    platform.answer('GET /identities/v1/visitor-1/links', answer)
    const page = await browser.get('/applications/new')
    t.equal(page.statusCode, 200)
    const { groupsNotLoaded, portalLink } = applicationsTexts.form
    t.match(textOf(page), around(link => groupsNotLoaded(problem, link))[0] + portalLink)
    t.ok(linksOf(page).includes(config.loginUrl))
    t.equal(readForm(page, '/applications').groupId, '', 'the form must have a field for the id of the group')
  }
})

t.test(
  'PG-14: if a form is shown again because the session has ended, it shows the name of the chosen group',
  async t => {
    const names = Array.from({ length: 60 }, (_, index) => own(`group-${index}`, `${index} <b>${'n'.repeat(190)}`))
    const groups = collection([own('mine', 'Weather & <b>people</b>'), ...names])
    const { browser, platform } = await buildApplicationsClient(t, {
      scripts: { 'GET /identities/v1/visitor-1/links': { body: groups } },
    })
    await signIn(browser)
    const opened: Record<string, string> = readForm(await browser.get('/applications/new'), '/applications')
    const form = { ...opened, ...typed, groupId: 'mine' }
    const before = platform.received().length
    browser.cookies.clear()

    const long = await browser.post('/applications', {
      ...form,
      description: 'd'.repeat(2_000),
      scopes: 's'.repeat(1_000),
    })
    t.equal(long.statusCode, 401)
    t.match(long.body, 'Weather &amp; &lt;b&gt;people&lt;/b&gt;')
    t.match(textOf(long), `${applicationsTexts.form.labels.groupId} Weather & <b>people</b>`)
    t.notMatch(textOf(long), 'mine', 'the page must not show the id')
    t.hasStrict(readForm(long, '/applications'), { groupId: 'mine', groupNames: opened.groupNames })

    const unknown = await browser.post('/applications', { ...form, groupId: 'other', description: 'd'.repeat(2_900) })
    t.match(unknown.body, /<input type="text" id="groupId" name="groupId"[^>]* value="other">/)

    const short = await browser.post('/applications', { ...form, description: 'd'.repeat(1_500) })
    t.match(textOf(short), webTexts.form.draftKept, 'the names must not need space in the cookie')
    t.equal(platform.received().length, before)
  },
)

t.test('the suggested name of the first group contains the name of the visitor', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: {
      'GET /api/me': { body: { '@id': 'visitor-1', firstName: 'Jane', lastName: 'Doe' } },
      'GET /identities/v1/visitor-1/links': { body: collection([]) },
    },
  })
  await signIn(browser)
  const form = readForm(await browser.get('/applications/new'), '/applications')
  t.equal(form.groupName, applicationsTexts.form.groupOf('Jane Doe'))
  const refused = await browser.post('/applications', { ...form, groupName: '', name: '' })
  t.equal(readForm(refused, '/applications').groupName, '', 'a field that the visitor has cleared must stay empty')
})
