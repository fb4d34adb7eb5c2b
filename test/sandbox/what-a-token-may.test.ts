// Compares the consent page with the routes that accept an access token: the page must name everything that a client
// can do.
import type { FastifyInstance, InjectOptions } from 'fastify'
import t from 'tap'
import { listRoutes, type Route } from '../support/list-routes.ts'
import { openBrowser, signIn } from './support/browser.ts'
import { buildTestSandbox, type TestSandbox } from './support/build-test-sandbox.ts'
import { callAsDeveloper, callWith, makeCreateBody } from './support/call-api.ts'
import { openDatabases } from './support/each-database.ts'
import { openAsDeveloper, submitForm } from './support/forms.ts'

interface Rule {
  /** What the consent page says about the route, or null if the route refuses a client's token. */
  says: string | null
  body?: (groupId: string) => object
}

const linkBody = { context: 'https://standards.oftrust.net/v2/Context/Link/Role/MemberOf/', type: 'MemberOf' }
const groupBody = {
  context: 'https://standards.oftrust.net/v2/Context/Identity/Group/',
  type: 'Group',
  data: { name: 'New' },
}

// If you add a route that accepts an access token, add the route here. Then mention it on the consent page, or make the
// route refuse the tokens of clients.
const rules: Record<string, Rule> = {
  'GET /api/me': { says: 'See: your name, e-mail address and user ID' },
  'GET /apps/v1': { says: 'See: your groups and all their applications' },
  'GET /apps/v1/:app_id': { says: 'See: your groups and all their applications' },
  'GET /identities/v1/:user_id/links': { says: 'See: your groups' },
  'POST /apps/v1': { says: 'Create: applications', body: makeCreateBody },
  'POST /identities/v1': { says: 'Create: applications and groups', body: () => groupBody },
  'PUT /apps/v1/:app_id': {
    says: 'Change and remove: the addresses to which people return after signing in',
    body: () => ({ name: 'New', redirectUris: 'https://new.example.test/' }),
  },
  'POST /apps/v1/:app_id/refreshSecret': { says: 'Change and remove: client secrets' },
  'DELETE /apps/v1/:app_id': { says: 'Change and remove: applications (removal is permanent)' },
  'POST /identities/v1/:user_id/link/:group_id': { says: null, body: () => linkBody },
  'DELETE /identities/v1/:user_id/link/:group_id': { says: null },
}

const ofApplications = ['GET /apps/v1', 'GET /apps/v1/:app_id']

/** Returns the permissions on the page. Each string begins with the heading of the permission. */
function readPermissions(body: string): string[] {
  const list = /<dl class="permissions">(.*?)<\/dl>/s.exec(body)?.[1] ?? ''
  return [...list.matchAll(/<dt>(.*?)<\/dt>(.*?)<\/div>/gs)].flatMap(([, heading, items = '']) =>
    [...items.matchAll(/<dd>(.*?)<\/dd>/gs)].map(([, text]) => `${heading}: ${text}`),
  )
}

/** Returns the routes whose answer has one status with the token, and another status without it. */
async function listGuarded(server: FastifyInstance, routes: Route[], accessToken: string): Promise<Route[]> {
  const guarded: Route[] = []
  for (const { method, url } of routes) {
    const [without, withToken] = [await send(server, method, url), await send(server, method, url, accessToken)]
    if (without !== withToken) guarded.push({ method, url })
  }
  return guarded
}

async function send(server: FastifyInstance, method: string, url: string, accessToken?: string, body?: object) {
  const answer = await server.inject({
    method: method as NonNullable<InjectOptions['method']>,
    url,
    headers: {
      ...(accessToken && { authorization: `Bearer ${accessToken}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  })
  return answer.statusCode
}

/** Makes a new application for each route, because some routes change the application, and one route removes it. */
async function prepare({ api }: TestSandbox, ownToken: string, groupId: string, userId: string) {
  const { call } = await callWith({ api, portal: api }, ownToken)
  const { '@id': appId, tokens } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
  const ids: Record<string, string> = { app_id: appId, user_id: userId, group_id: groupId }
  const fill = (url: string) =>
    `${url.replace(/:(\w+)/g, (_, name) => ids[name] ?? `no-${name}`)}${url.endsWith('/links') ? '?type=MemberOf' : ''}`
  return { fill, appToken: tokens[0].token as string }
}

for (const database of await openDatabases(t)) {
  t.test(
    `for each route that accepts an access token, the consent page says what a client can do there, and it says nothing else (${database.name})`,
    async t => {
      const sandbox = await buildTestSandbox(t, { databaseUrl: await database.make(t) })
      const browser = openBrowser(sandbox)
      const consent = (await signIn(browser)).body
      const permissions = readPermissions(consent)
      t.ok(permissions.length > 0)
      t.strictSame(
        readPermissions((await browser.get('/terms')).body),
        permissions,
        'the terms must list the same permissions',
      )
      const { accessToken, groupId, userId } = await callAsDeveloper(sandbox)
      const own = await openAsDeveloper(sandbox)
      const shown = await submitForm(own, await own.get('/account/token'), '/account/token')
      const ownToken = /data-copy="access token">([^<]+)</.exec(shown.body)?.[1] ?? ''

      const [said, walked] = [new Set<string>(), new Set<string>()]
      for (const server of [sandbox.api, sandbox.portal]) {
        const routes = listRoutes(server)
        t.ok(routes.length > 20, `${routes.length} routes`)
        for (const { method, url } of await listGuarded(server, routes, accessToken)) {
          const name = `${method === 'HEAD' ? 'GET' : method} ${url}`
          const rule = rules[name]
          if (!rule) {
            t.fail(`${name}: say on the consent page what a client can do there, or refuse its token`)
            continue
          }
          walked.add(name)
          const body = rule.body?.(groupId)
          const { fill, appToken } = await prepare(sandbox, ownToken, groupId, userId)
          const ofApplication = await send(server, method, fill(url), appToken, body)
          t.equal(
            ofApplication,
            ofApplications.includes(name) ? 200 : 403,
            `an application’s own token: ${method} ${url}`,
          )
          const ofClient = await send(server, method, fill(url), accessToken, body)
          if (rule.says === null) {
            t.equal(ofClient, 403, `${name} must refuse the tokens of clients`)
            continue
          }
          t.ok(ofClient >= 200 && ofClient < 300, `${method} ${url} is ${ofClient}`)
          const permission = permissions.find(text => text.includes(rule.says as string))
          t.ok(permission, `the page says: ${rule.says}`)
          said.add(permission ?? '')
        }
      }
      t.strictSame([...walked].sort(), Object.keys(rules).sort(), 'every rule must belong to an existing route')
      t.strictSame([...said].sort(), [...permissions].sort(), 'every permission must belong to a route')
    },
  )
}
