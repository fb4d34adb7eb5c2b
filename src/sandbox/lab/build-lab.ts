// The laboratory: shows what clients did and why it failed, orders faults, and makes people and clients for tests. It has a
// listener of its own.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { describeRoutes } from '../http/describe.ts'
import { createServer } from '../http/server.ts'
import type { Step } from '../observe/steps.ts'
import type { Mailbox } from '../people/mail.ts'
import type { Secret } from '../values/secret.ts'
import { readAsset } from '../web/assets.ts'
import { localTimes, registerViews, stylesheet } from '../web/views.ts'
import type { Addresses } from './addresses.ts'
import { descriptionOf } from './description/description.ts'
import * as ofFaults from './description/fault-operations.ts'
import * as ofLogins from './description/login-operations.ts'
import { schemas } from './description/schemas.ts'
import * as ofSetUp from './description/set-up-operations.ts'
import { eventRoutes } from './explain/events.ts'
import { guidanceOf } from './explain/guidance.ts'
import { loginRoutes } from './explain/login-routes.ts'
import { actAtEdge, type PlatformAccess } from './faults/edge.ts'
import { faultRoutes } from './faults/fault-routes.ts'
import { createOrderedFaults, type OrderedFaults } from './faults/orders.ts'
import { stateReader } from './faults/state-of.ts'
import { createTraps } from './faults/traps.ts'
import { guardLab, refuseUnreadBody } from './guard.ts'
import { answerInLabDialect } from './lab-error.ts'
import { createMailbox, mailboxRoutes } from './pages/mailbox.ts'
import { type NamesOf, pageRoutes } from './pages/pages.ts'
import { createHide } from './record/hide.ts'
import { type Bounds, createLogins } from './record/logins.ts'
import { recordStep } from './record/record.ts'
import { identityOf, type LabStep } from './record/recorded.ts'
import { makeApplications } from './set-up/applications.ts'
import { expire } from './set-up/expire.ts'
import { makeGroups } from './set-up/groups.ts'
import { setLifetimes } from './set-up/lifetimes.ts'
import { makePeople } from './set-up/people.ts'
import { reset } from './set-up/reset.ts'
import type { SetUpParts } from './set-up/set-up-parts.ts'
import { signIn } from './set-up/sign-in.ts'

const icon = readAsset('lab/icon.svg')
const ownAssets = ['lab/lab.css', 'lab/live.js', 'lab/faults.js'].map(readAsset)

export interface Lab {
  server: FastifyInstance
  /** Records a step of the portal or the API. */
  record(step: LabStep): void
  /** Where a developer reads about the step with this id, as soon as it is recorded. */
  urlOf(stepId: string): string
  /** Lets ordered faults happen on a listener; called before anything else is added to it. */
  atEdge(platform: PlatformAccess): (server: FastifyInstance, listener: Step['listener']) => void
  faults: OrderedFaults
  mailbox: Mailbox
}

export interface LabOptions {
  addresses: Omit<Addresses, 'labUrl'>
  /** Public addresses. Links use the first one. */
  labUrls: string[]
  token: Secret | undefined
  clock: () => Date
  logger: FastifyBaseLogger
  /** What the set-up calls work with. Without it the laboratory has no set-up calls. */
  setUp?: SetUpParts | undefined
  namesOf?: NamesOf
  bounds?: Bounds
}

export async function buildLab(options: LabOptions): Promise<Lab> {
  const { labUrls, token, clock, logger, setUp, bounds, namesOf = async () => new Map() } = options
  const addresses: Addresses = { ...options.addresses, labUrl: labUrls[0]! }
  const hide = createHide()
  const logins = createLogins(bounds)
  const hashState = (state: string) => identityOf(hide.value('state', state, clock()))!
  const orderedFaults = createOrderedFaults({ clock, hashState })
  const traps = createTraps()
  const mailbox = createMailbox({ clock, labUrl: addresses.labUrl })

  const server = createServer(logger, (status, message) => ({ error: { status, message } }))
  answerInLabDialect(server)
  server.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
  })
  server.addHook('onRequest', guardLab(labUrls, token))
  server.addHook('preHandler', refuseUnreadBody)

  await describeRoutes(server, schemas, descriptionOf(addresses, token))
  server.get('/lab/v1/openapi.json', async () => server.swagger())

  const happened = loginRoutes({ logins, hide, addresses, clock })
  const events = eventRoutes({ logins, addresses })
  server.get('/lab/v1/logins', { schema: ofLogins.listLogins }, happened.list)
  server.get('/lab/v1/logins/:id', { schema: ofLogins.showLogin }, happened.show)
  server.get('/lab/v1/logins/:id/har', { schema: ofLogins.showHar }, happened.showHar)
  server.get('/lab/v1/events', { schema: ofLogins.streamEvents }, events.stream)

  const faults = faultRoutes(orderedFaults)
  server.post('/lab/v1/faults', { schema: ofFaults.orderFault, attachValidation: true }, faults.order)
  server.get('/lab/v1/faults', { schema: ofFaults.listFaults }, faults.list)
  server.delete('/lab/v1/faults', { schema: ofFaults.removeFaults }, faults.removeAll)
  server.get('/lab/v1/faults/catalogue', { schema: ofFaults.showCatalogue }, faults.showCatalogue)
  server.get('/lab/v1/faults/:id', { schema: ofFaults.showFault }, faults.show)
  server.delete('/lab/v1/faults/:id', { schema: ofFaults.removeFault }, faults.remove)

  if (setUp) {
    server.post('/lab/v1/people', { schema: ofSetUp.makePerson }, makePeople(setUp))
    server.post('/lab/v1/groups', { schema: ofSetUp.makeGroup }, makeGroups(setUp))
    server.post('/lab/v1/applications', { schema: ofSetUp.makeClient }, makeApplications(setUp))
    server.put('/lab/v1/applications/:id/lifetimes', { schema: ofSetUp.setLifetimes }, setLifetimes(setUp))
    server.post('/lab/v1/sign-in', { schema: ofSetUp.signIn }, signIn(setUp, explain))
    server.post('/lab/v1/expire', { schema: ofSetUp.expire }, expire(setUp))
    const forgetFaults = (clientIds: readonly string[]) =>
      void orderedFaults.remove(({ clientId }) => clientId !== undefined && clientIds.includes(clientId))
    server.post('/lab/v1/reset', { schema: ofSetUp.reset }, reset(setUp, forgetFaults))
  }

  const mail = mailboxRoutes(mailbox)
  server.get('/lab/v1/mailbox', { schema: ofLogins.listMail }, mail.list)

  await registerViews(server, { layout: 'lab/layout', icon, assets: [stylesheet, localTimes, ...ownAssets] })
  const pages = pageRoutes({ logins, orderedFaults, addresses, namesOf })
  server.get('/', pages.list)
  server.get('/logins/:id', pages.show)
  server.get('/requests/:id', pages.showRequest)
  server.get('/mailbox', mail.show)
  server.addHook('preClose', async () => {
    events.endAll()
    happened.endWaits()
  })
  await server.ready()

  function explain(requestId: string): string | undefined {
    const reason = logins.findStep(requestId)?.step.reason
    return reason && guidanceOf(reason).found
  }

  return {
    server,
    record: step => void logins.record(recordStep(step, hide)),
    atEdge: platform => (server, listener) => {
      actAtEdge(server, listener, { orderedFaults, traps, platform, isOfState: stateReader({ logins, hide, clock }) })
      traps.addTo(server, platform.noteTrap)
    },
    faults: orderedFaults,
    mailbox,
    urlOf: stepId => `${addresses.labUrl}/requests/${stepId}`,
  }
}
