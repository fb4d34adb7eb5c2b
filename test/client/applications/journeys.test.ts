// How many files one opens to follow a visitor: those of src/client in which anything runs, without operations.
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import t, { type Test } from 'tap'
import { signIn, TestClock } from '../support/build-test-client.ts'
import { readForm } from '../support/read-form.ts'
import { type Script, send } from '../support/scripted-platform.ts'
import { buildApplicationsClient } from './support/build-applications-client.ts'
import { rememberingApi } from './support/remembering-api.ts'

const folder = new URL('../../../src/client/', import.meta.url).pathname
/** There from the start: an answer to the first question that comes in the middle of a journey runs nothing of its own. */
const metadata: Script = ({ headers }, response) => {
  const issuer = `http://${headers.host}`
  const body = { issuer, code_challenge_methods_supported: ['S256'], revocation_endpoint: `${issuer}/api/revokeToken` }
  send(response, { body })
}

async function start(t: Test) {
  const clock = new TestClock()
  const api = rememberingApi(clock)
  const test = await buildApplicationsClient(t, {
    clock,
    scripts: {
      ...api.scripts,
      'POST /api/revokeToken': { body: {} },
      'GET /.well-known/oauth-authorization-server': metadata,
    },
  })
  // As after an hour: the document is asked for again.
  clock.advance(3601)
  return test
}

/** The files in which a function ran, as paths within src/client. */
async function filesOf(t: Test, journey: () => Promise<void>): Promise<string[]> {
  const inspector = new Session()
  inspector.connect()
  await inspector.post('Profiler.enable')
  await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await inspector.post('Profiler.takePreciseCoverage')
  await journey()
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  inspector.disconnect()
  const hasRun = result.filter(({ functions }) => functions.some(({ ranges }) => ranges[0]!.count > 0))
  const paths = hasRun.map(({ url }) => relative(folder, url.replace('file://', '')))
  const files = paths.filter(path => !path.startsWith('..') && !path.startsWith('operations/')).sort()
  t.comment(`${files.length}: ${files.join(' ')}`)
  return files
}

t.test('a login up to its first page runs through at most 14 files', async t => {
  const { browser } = await start(t)
  const files = await filesOf(t, async () => {
    t.match((await signIn(browser)).body, 'One moment')
    t.equal((await browser.get('/applications', { site: 'same-origin' })).statusCode, 200)
  })
  t.ok(files.includes('sign-in/login.ts'))
  t.ok(files.length <= 14, `${files.length} files`)
})

t.test('creating an application with a session that is due runs through at most 15 files', async t => {
  const { browser, clock } = await start(t)
  await signIn(browser)
  const form = readForm(await browser.get('/applications/new', { site: 'same-origin' }), '/applications')
  clock.advance(3600 - 30)
  const files = await filesOf(t, async () => {
    const fields = { ...form, name: 'Weather', redirectUris: 'https://weather.test/back' }
    const answer = await browser.post('/applications', fields)
    t.equal(answer.statusCode, 303)
    t.match(
      (await browser.get(String(answer.headers.location), { site: 'same-origin' })).body,
      'Copy these credentials now.',
    )
  })
  t.ok(files.length <= 15, `${files.length} files`)
})

t.test('signing out, with the start page after it, runs through at most 14 files', async t => {
  const { browser, platform } = await start(t)
  await signIn(browser)
  const files = await filesOf(t, async () => {
    t.equal((await browser.post('/logout')).headers.location, '/')
    t.match((await browser.get('/', { site: 'same-origin' })).body, 'You are signed out.')
  })
  t.equal(platform.received('POST /api/revokeToken').length, 1)
  t.ok(files.length <= 14, `${files.length} files`)
})
