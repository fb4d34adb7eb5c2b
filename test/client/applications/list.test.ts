// Tests the list of the visitor's applications: search, pages, order, and incomplete records.

import t from 'tap'
import { applicationsTexts } from '../../../src/client/applications/texts.ts'
import { upstreamTexts } from '../../../src/client/upstream-texts.ts'
import { webTexts } from '../../../src/client/web/texts.ts'
import { signIn } from '../support/build-test-client.ts'
import { linksOf, textOf } from '../support/read-form.ts'
import { applicationRecord, collection } from './support/application-record.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'

/** Returns `count` applications in a mixed order. They were created one minute apart. */
function applications(count: number) {
  const records = Array.from({ length: count }, (_, index) => {
    const createdAt = new Date(Date.parse('2026-01-01T00:00:00Z') + index * 60_000).toISOString()
    return applicationRecord(`app-${index + 1}`, { name: `Name ${index + 1}` }, { metadata: { createdAt } })
  })
  return records.sort((one, other) => one['@id'].slice(-1).localeCompare(other['@id'].slice(-1)))
}

const idsOf = (page: { body: string }) =>
  linksOf(page).flatMap(link => /^\/applications\/(app-\d+)$/.exec(link)?.[1] ?? [])

t.test('the client reads the list with the visitor’s access token, and shows the newest application first', async t => {
  const { browser, platform } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection(applications(12)) } },
  })
  await signIn(browser)
  const page = await browser.get('/applications')
  t.equal(page.statusCode, 200)
  t.same(
    idsOf(page),
    Array.from({ length: 12 }, (_, index) => `app-${12 - index}`),
  )
  t.match(textOf(page), applicationsTexts.list.count(12))
  t.match(textOf(page), 'app-12', 'each row must show the client ID')
  t.match(textOf(page), 'Jan 1, 2026, 12:11 AM UTC')
  t.equal(platform.received('GET /apps/v1').length, 1)
})

t.test('if the API answers 404 to the list, the page says that the answer makes no sense', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { status: 404, body: { message: 'Not found' } } },
  })
  await signIn(browser)
  const page = await browser.get('/applications')
  t.equal(page.statusCode, 502)
  t.match(textOf(page), upstreamTexts.api.unexpected)
  t.notMatch(textOf(page), applicationsTexts.notFound)
})

t.test('the list shows fifty applications on each page, with links to the other pages', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection(applications(101)) } },
  })
  await signIn(browser)
  const first = await browser.get('/applications')
  t.equal(idsOf(first).length, 50)
  t.equal(idsOf(first)[0], 'app-101')
  t.match(textOf(first), `${applicationsTexts.list.range(1, 50, 101)} ${applicationsTexts.list.pageOf(1, 3)}`)
  t.notOk(linksOf(first).includes('/applications?page=0'))

  const second = await browser.get(linksOf(first).find(link => link.endsWith('page=2'))!)
  t.equal(idsOf(second)[0], 'app-51')
  t.ok(linksOf(second).includes('/applications?page=1'))

  const third = await browser.get(linksOf(second).find(link => link.endsWith('page=3'))!)
  t.same(idsOf(third), ['app-1'])
  t.match(textOf(third), applicationsTexts.list.range(101, 101, 101))
  t.notOk(linksOf(third).some(link => link.endsWith('page=4')))
})

t.test('a page number that is too high or not a number leads to an existing page', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection(applications(60)) } },
  })
  await signIn(browser)
  for (const [page, shown] of [
    ['3', 2],
    ['999999999999999999999', 2],
    ['0', 1],
    ['-1', 1],
    ['1.9', 1],
    ['two', 1],
    ['', 1],
    ['NaN', 1],
  ] as const) {
    const answer = await browser.get(`/applications?page=${page}`)
    t.equal(answer.statusCode, 200, `page=${page}`)
    t.match(textOf(answer), applicationsTexts.list.pageOf(Number(shown), 2), `page=${page}`)
  }
})

t.test(
  'if an address contains a query parameter twice, the client answers with an error page and does not call the API',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t)
    await signIn(browser)
    for (const query of ['page=1&page=2', 'q=a&q=b', 'sort=name&sort=oldest']) {
      const answer = await browser.get(`/applications?${query}`)
      t.equal(answer.statusCode, 400, query)
      t.match(textOf(answer), webTexts.errors.byStatus[400])
      t.notMatch(textOf(answer), /querystring|must be/, 'the page must not contain messages from the validator')
    }
    t.equal(platform.received('GET /apps/v1').length, 0)
  },
)

t.test('the search ignores case, and links to other pages keep the search', async t => {
  const many = applications(120).map(record => ({
    ...record,
    data: { ...record.data, name: Number(record['@id'].slice(4)) % 2 ? 'Weather & Co' : 'Tides' },
  }))
  const { browser } = await buildApplicationsClient(t, { scripts: { 'GET /apps/v1': { body: collection(many) } } })
  await signIn(browser)
  const page = await browser.get('/applications?q=%20EATHER%20%26%20c%20')
  t.equal(idsOf(page).length, 50)
  t.match(textOf(page), applicationsTexts.list.countFound(60, 120, 'EATHER & c'))
  t.match(page.body, 'name="q" value="EATHER &amp; c"')
  const next = await browser.get(linksOf(page).find(link => link.includes('page=2'))!)
  t.equal(idsOf(next).length, 10)
  t.match(next.body, 'name="q" value="EATHER &amp; c"')
})

t.test(
  'the page offers a search and sorting only if the list is long, or if the address contains a search or an order',
  async t => {
    const { browser, platform } = await buildApplicationsClient(t, {
      scripts: { 'GET /apps/v1': { body: collection(applications(7)) } },
    })
    await signIn(browser)
    const hasTools = async (path: string) => {
      const { body } = await browser.get(path)
      return body.includes('role="search"') && body.includes('sort=name')
    }
    t.equal(await hasTools('/applications'), false)
    t.equal(await hasTools('/applications?q=name'), true)
    t.equal(await hasTools('/applications?sort=oldest'), true)
    platform.answer('GET /apps/v1', { body: collection(applications(8)) })
    t.equal(await hasTools('/applications'), true)
  },
)

t.test('the search also finds applications by id', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection(applications(30)) } },
  })
  await signIn(browser)
  const found = await browser.get('/applications?q=APP-17')
  t.same(idsOf(found), ['app-17'])
  t.match(textOf(found), applicationsTexts.list.clientId('app-17'), 'the list must show the id that was found')
})

t.test('the links that sort the list keep the search, and a search keeps the order', async t => {
  const records = ['Tides 10', 'tides 9', 'Ärzte', 'bus'].map((name, index) =>
    applicationRecord(`app-${index + 1}`, { name }, { metadata: { createdAt: `2026-01-0${index + 1}T00:00:00Z` } }),
  )
  const { browser } = await buildApplicationsClient(t, { scripts: { 'GET /apps/v1': { body: collection(records) } } })
  await signIn(browser)
  const orderOf = async (path: string) =>
    idsOf(await browser.get(path))
      .map(id => id.slice(4))
      .join('')
  t.equal(await orderOf('/applications'), '4321')
  t.equal(await orderOf('/applications?sort=oldest'), '1234')
  t.equal(
    await orderOf('/applications?sort=name'),
    '3421',
    'accents, capital letters and numbers must be sorted as people sort them',
  )
  t.equal(await orderOf('/applications?sort=constructor'), '4321', 'the client must ignore an unknown order')
  const page = await browser.get('/applications?q=tides&sort=name')
  t.same(idsOf(page), ['app-2', 'app-1'])
  t.ok(linksOf(page).includes('/applications?q=tides&sort=oldest'))
  t.match(page.body, '<input type="hidden" name="sort" value="name">')
  t.match(page.body, `sort=name" aria-current="true">${applicationsTexts.list.orders.name}<`)
})

t.test('if a search finds nothing, the page says so, and links to the whole list', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection(applications(2)) } },
  })
  await signIn(browser)
  const page = await browser.get('/applications?q=zebra')
  t.equal(page.statusCode, 200)
  t.match(textOf(page), `${applicationsTexts.list.noneFound.title} ${applicationsTexts.list.noneFound.text('zebra')}`)
  t.ok(linksOf(page).includes('/applications'))
  t.same(idsOf(page), [])
})

t.test('the page invites a visitor without applications to create the first application', async t => {
  const { browser } = await buildApplicationsClient(t, { scripts: { 'GET /apps/v1': { body: collection([]) } } })
  await signIn(browser)
  const page = await browser.get('/applications')
  t.equal(page.statusCode, 200)
  t.match(textOf(page), applicationsTexts.list.noneYet.title)
  t.equal(
    linksOf(page).filter(link => link === '/applications/new').length,
    1,
    'the page must have one link to the form for the first application',
  )
  t.ok(linksOf(page).includes('/applications/new'))
  t.notMatch(page.body, 'role="search"')
})

t.test(
  'F-44: if fields of a record are missing, null, unknown or of a wrong type, the list shows placeholders',
  async t => {
    const odd: unknown[] = [
      null,
      'text',
      7,
      [],
      {},
      { '@id': 5 },
      { '@id': '../../admin' },
      applicationRecord('no-data', {}, { data: null, metadata: null, inLinks: null }),
      applicationRecord('null-name', { name: null, description: 5 }),
      applicationRecord('object-name', { name: { a: 1 }, description: ['x'] }),
      applicationRecord('bad-time', {}, { metadata: { createdAt: 'yesterday', updatedAt: 1e300 } }),
      applicationRecord('far-time', {}, { metadata: { createdAt: '+275760-09-13T00:00:00+00:00' } }),
      applicationRecord('more', { extra: { deep: [1] } }, { client: 'x', tokens: 5, more: true, inLinks: [null, 1] }),
      applicationRecord('x'.repeat(101)),
      applicationRecord('whole'),
    ]
    const { browser } = await buildApplicationsClient(t, { scripts: { 'GET /apps/v1': { body: collection(odd) } } })
    await signIn(browser)
    const page = await browser.get('/applications')
    t.equal(page.statusCode, 200)
    for (const id of ['no-data', 'null-name', 'object-name', 'bad-time', 'far-time', 'more', 'whole'])
      t.ok(linksOf(page).includes(`/applications/${id}`), id)
    t.match(textOf(page), applicationsTexts.unnamed)
    t.notMatch(page.body, /Invalid Date|undefined|\[object Object\]|NaN|\.\.\/admin/)
    t.match(textOf(page), applicationsTexts.list.count(7))
  },
)

t.test('F-44: a list of ten thousand applications shows fifty applications on each page', async t => {
  const { browser } = await buildApplicationsClient(t, {
    scripts: { 'GET /apps/v1': { body: collection(applications(10_000)) } },
  })
  await signIn(browser)
  const page = await browser.get('/applications?page=200')
  t.equal(page.statusCode, 200)
  t.equal(idsOf(page).length, 50)
  t.equal(idsOf(page).at(-1), 'app-1')
  t.match(textOf(page), applicationsTexts.list.pageOf(200, 200))
})

const otherShapes: Record<string, unknown> = {
  'no ItemList': { '@type': 'collection' },
  'an ItemList that is an object': { ItemList: {} },
  'an ItemList of null': { ItemList: null },
  'a bare list': [applicationRecord('app-1')],
  null: null,
  'a string': '"text"',
}
for (const [what, body] of Object.entries(otherShapes)) {
  t.test(`F-44: if the API’s answer is not a list (${what}), the page says so`, async t => {
    const { browser } = await buildApplicationsClient(t, { scripts: { 'GET /apps/v1': { body } } })
    await signIn(browser)
    const page = await browser.get('/applications')
    t.equal(page.statusCode, 502)
    t.match(textOf(page), upstreamTexts.api.unexpected)
    t.ok(browser.cookie('__Host-session'), 'the visitor must stay signed in')
  })
}
