// Every refusal links to its step in the laboratory. The step links to the reason, and the reason links to its checks.
import type { FastifyInstance, FastifyRequest, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { groups } from '../../../src/conformance/checks.ts'
import { answerInApiDialect, toApiError } from '../../../src/sandbox/api/api-error.ts'
import { createServer } from '../../../src/sandbox/http/server.ts'
import { buildLab } from '../../../src/sandbox/lab/build-lab.ts'
import { checksFor } from '../../../src/sandbox/lab/explain/checks.ts'
import { allReasons } from '../../../src/sandbox/lab/explain/find-logins.ts'
import { guidanceOf } from '../../../src/sandbox/lab/explain/guidance.ts'
import { notices } from '../../../src/sandbox/lab/explain/notices/notices.ts'
import { observeRequests } from '../../../src/sandbox/observe/observe.ts'
import { type Reason, reasons } from '../../../src/sandbox/observe/reasons.ts'
import { Refusal } from '../../../src/sandbox/observe/refusal.ts'
import { useClientCalls } from '../../../src/sandbox/portal/client-calls.ts'
import { usePages } from '../../../src/sandbox/portal/use-pages.ts'
import { useUserCalls } from '../../../src/sandbox/portal/user-calls.ts'
import { exchange, getAccessToken, openBrowser, signIn, startUrl } from '../support/browser.ts'
import { buildTestSandbox, seeded } from '../support/build-test-sandbox.ts'
import { labConfig } from '../support/call-lab.ts'

const labUrl = 'http://127.0.0.1:4002'
const headers = { host: '127.0.0.1:4002' }

/**
 * Builds a server that refuses every request. The path of a request contains the error format and the reason for the
 * refusal.
 */
async function buildRefusing(t: Test) {
  const sandbox = await buildTestSandbox(t)
  const clock = () => new Date('2026-03-01T12:00:00Z')
  const logger = pino({ level: 'silent' })
  const addresses = { portalUrl: 'http://127.0.0.1:4000', apiUrl: 'http://127.0.0.1:4001' }
  const lab = await buildLab({ addresses, labUrls: [labUrl], token: undefined, clock, logger })
  t.teardown(() => lab.server.close())
  const server = createServer({ logger, toBody: (_status, message) => message, dialect: 'oauth' })
  t.teardown(() => server.close())
  const observer = { onStep: lab.record, urlOf: lab.urlOf }
  observeRequests(server, { listener: 'portal', observer, clock })
  const refuse = async (request: FastifyRequest) => {
    throw new Refusal((request.params as { reason: Reason }).reason)
  }
  const services = { addresses, store: sandbox.store, clock, observer }
  const dialects: Record<string, (scope: FastifyInstance) => unknown> = {
    page: scope => usePages(scope, services),
    'client-call': scope => useClientCalls(scope, services),
    'user-call': scope => useUserCalls(scope, services),
    api: scope => answerInApiDialect(scope),
  }
  for (const [name, use] of Object.entries(dialects))
    await server.register(
      async scope => {
        await use(scope)
        scope.get('/:reason', refuse)
      },
      { prefix: `/${name}` },
    )
  return { server, lab: lab.server, names: Object.keys(dialects) }
}

/** Returns the address of the laboratory page to which a refusal leads developers. */
function helpIn({ body, headers }: LightMyRequestResponse): string | undefined {
  const [, onPage] = /href="(http:\/\/127\.0\.0\.1:4002\/requests\/[\w-]+)"/.exec(body) ?? []
  const [, inHeader] = /^<(.+)>; rel="help"$/.exec(String(headers.link)) ?? []
  return onPage ?? inHeader
}

t.test(
  'in every error format, a refusal links to its step in the laboratory, and the step links to the reason for the refusal',
  async t => {
    const { server, lab, names } = await buildRefusing(t)
    const reference = (await lab.inject({ url: '/reference', headers })).body
    for (const name of names)
      for (const reason of Object.keys(reasons) as Reason[]) {
        const answer = await server.inject(`/${name}/${reason}`)
        t.ok(answer.statusCode >= 400, `${name}: ${reason}`)
        const help = helpIn(answer)
        if (help === undefined) {
          t.fail(`${name}, ${reason}: no link`)
          continue
        }
        const { location } = (await lab.inject({ url: new URL(help).pathname, headers })).headers
        const { body } = await lab.inject({ url: String(location), headers })
        // The API has no messages for reasons that only the portal uses, and reports such a reason as an internal
        // error.
        const noted = name === 'api' ? toApiError(new Refusal(reason)).reason : reason
        t.ok(body.includes(`href="/reference#${noted}"`), `${name}: the page of the login names ${noted}`)
        t.ok(reference.includes(`id="${reason}"`), `${reason} is on the page of all reasons`)
        if (name === 'page')
          t.ok(answer.body.includes(`href="${labUrl}/reference#${reason}"`), `${reason} on its error page`)
      }
  },
)

t.test(
  'whichever part of the platform refuses a request, the answer links to the step of the request in the laboratory',
  async t => {
    const sandbox = await buildTestSandbox(t, { lab: labConfig })
    const { portal, api } = sandbox
    const authorization = `Bearer ${await getAccessToken(sandbox)}`
    const json = { 'content-type': 'application/json', authorization }
    const large = `{"name":"${'x'.repeat(70_000)}"}`
    const stranger = openBrowser(sandbox)
    const form = await stranger.get(startUrl())
    stranger.cookies.clear()
    const rows: [string, () => Promise<LightMyRequestResponse>][] = [
      ['an unknown client', () => portal.inject(startUrl({ client_id: 'nobody' })) as never],
      ['a wrong redirect URI', () => portal.inject(startUrl({ redirect_uri: `${seeded.redirectUri}/` })) as never],
      ['a wrong response type', () => portal.inject(startUrl({ response_type: 'token' })) as never],
      ['a page that does not exist', () => portal.inject('/nowhere') as never],
      ['a method that the page does not accept', () => portal.inject({ method: 'PUT', url: '/' })],
      ['a cross-site form', () => stranger.post('/sign-in', {}, { headers: { 'sec-fetch-site': 'cross-site' } })],
      ['a browser without cookies', () => stranger.submit(form, { email: seeded.email, password: seeded.password })],
      ['a form that is too large', () => stranger.post('/sign-in', { email: 'x'.repeat(40_000) })],
      ['a wrong code', () => exchange(sandbox, { code: 'none' })],
      ['a portal call that does not exist', () => portal.inject('/api/nothing') as never],
      ['an address that cannot be read', () => portal.inject('/%zz') as never],
      ['a call without a token', () => api.inject('/apps/v1') as never],
      ['an application that does not exist', () => api.inject({ url: '/apps/v1/none', headers: { authorization } })],
      ['an API address that does not exist', () => api.inject('/nothing') as never],
      ['an unsupported API method', () => api.inject({ method: 'PATCH', url: '/apps/v1', headers: { authorization } })],
      ['a body that is not JSON', () => api.inject({ method: 'POST', url: '/apps/v1', headers: json, payload: '{' })],
      [
        'a body without its fields',
        () => api.inject({ method: 'POST', url: '/apps/v1', headers: json, payload: '{}' }),
      ],
      [
        'a body that is too large',
        () => api.inject({ method: 'POST', url: '/apps/v1', headers: json, payload: large }),
      ],
      ['an API address that cannot be read', () => api.inject('/%zz') as never],
    ]
    for (const [name, ask] of rows) {
      const answer = await ask()
      const help = helpIn(answer)
      t.ok(answer.statusCode >= 400, `${name}: ${answer.statusCode}`)
      const step = await sandbox.lab!.inject({ url: new URL(help ?? `${labUrl}/requests/none`).pathname, headers })
      t.match([step.statusCode, step.headers.location], [303, /^\/logins\/[\w-]+#step-\d+$/], `${name}: ${help}`)
    }
  },
)

t.test(
  'the laboratory has a list of checks for each reason and notice; this list names only existing reasons, notices and checks',
  async t => {
    const ids = new Set(groups.flatMap(({ checks }) => checks.map(({ id }) => id)))
    const known = new Set<string>([...allReasons, ...notices.map(({ id }) => id)])
    for (const [entry, checks] of Object.entries(checksFor)) {
      t.ok(known.has(entry), entry)
      for (const check of checks) t.ok(ids.has(check), `${entry}: ${check}`)
    }
    const { lab } = await buildTestSandbox(t, { lab: labConfig })
    const { body } = await lab!.inject({ url: '/reference', headers })
    t.match(body, '<code>callback-resent</code>')
    t.ok(body.includes(guidanceOf('redirect-followed').fix.split('’')[0]!))
    for (const { id } of notices) t.ok(body.includes(`id="notice-${id}"`), id)
  },
)

t.test(
  'the portal, the API and the laboratory link to each other; if the sandbox has no laboratory, no page has a link to it',
  async t => {
    const on = await buildTestSandbox(t, { lab: labConfig })
    const off = await buildTestSandbox(t)
    const look = async (sandbox: typeof on) => {
      const browser = openBrowser(sandbox)
      await browser.submit(await signIn(browser), { decision: 'allow' })
      const groupsPage = (await browser.get('/account/groups')).body
      const groupPath = /href="(\/account\/groups\/[\w-]+)"/.exec(groupsPage)?.[1] ?? ''
      const pages = {
        applications: await browser.get('/account/applications'),
        group: await browser.get(groupPath),
        calls: await browser.get('/api/docs'),
        api: await sandbox.api.inject('/'),
        apiCalls: await sandbox.api.inject('/apps/v1/docs'),
      }
      return Object.entries(pages).map(([name, { body }]) => [name, body] as const)
    }
    for (const [name, body] of await look(on)) {
      const address = ['applications', 'group'].includes(name) ? `${labUrl}/?clientId=${seeded.clientId}` : labUrl
      t.ok(body.includes(`href="${address}"`), name)
    }
    for (const [name, body] of await look(off)) t.notOk(body.includes(labUrl), name)
    for (const url of ['/', '/reference', '/mailbox']) {
      const { body } = await on.lab!.inject({ url, headers })
      for (const address of [
        'http://127.0.0.1:4000/account',
        'http://127.0.0.1:4000/api/docs',
        'http://127.0.0.1:4001/',
      ])
        t.ok(body.includes(`href="${address}"`), `${url}: ${address}`)
    }
  },
)
