// Builds the laboratory, which has its own port. The laboratory shows what clients did and why requests failed. It
// makes faults happen, and creates people and clients for tests.
import formbody from '@fastify/formbody'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { type Description, describeRoutes, type Schema } from '../http/describe.ts'
import { createServer } from '../http/server.ts'
import type { Step } from '../observe/steps.ts'
import type { Mailbox } from '../people/mail.ts'
import type { Secret } from '../values/secret.ts'
import { readAsset } from '../web/assets.ts'
import { localTimes, registerViews, stylesheet } from '../web/views.ts'
import type { LabAddresses } from './addresses.ts'
import { errorSchema } from './call-schemas.ts'
import { loginSchemas } from './explain/describe-login.ts'
import type { NamesOf } from './explain/find-logins.ts'
import { guidanceOf } from './explain/guidance.ts'
import { harSchemas } from './explain/har.ts'
import { createVerdictLog } from './explain/log-verdicts.ts'
import { loginCalls } from './explain/login-calls.ts'
import { stepStream } from './explain/step-stream.ts'
import { faultCalls, faultSchemas } from './faults/fault-calls.ts'
import { addFaultHooks, type PlatformAccess } from './faults/fault-hooks.ts'
import { createOrderedFaults, type OrderedFaults } from './faults/orders.ts'
import { longestOrder } from './faults/read-order.ts'
import { createTraps } from './faults/traps.ts'
import { guardLab, refuseUnreadBody, takesForms } from './guard.ts'
import { answerInLabDialect } from './lab-error.ts'
import { changeStream } from './pages/change-stream.ts'
import { faultPage } from './pages/fault-page.ts'
import { listRoutes } from './pages/list.ts'
import { loginPage } from './pages/login-page.ts'
import { createMailbox, mailboxRoutes, mailSchemas } from './pages/mailbox.ts'
import { referenceRoutes } from './pages/reference.ts'
import { createHide } from './record/hide.ts'
import { type Bounds, createLogins } from './record/logins.ts'
import { recordStep } from './record/record.ts'
import type { LabStep } from './record/recorded.ts'
import { labHeaders, labPageHeaders } from './security-headers.ts'
import { applicationCall, clientSchemas } from './set-up/applications.ts'
import { expireCall, expiredSchemas } from './set-up/expire.ts'
import { groupCall, groupSchemas } from './set-up/groups.ts'
import { lifetimesCall, lifetimesSchemas } from './set-up/lifetimes.ts'
import { personCall, personSchemas } from './set-up/people.ts'
import { resetCall, resetSchemas } from './set-up/reset.ts'
import type { SetUpServices } from './set-up/set-up.ts'
import { signedInSchemas, signInCall } from './set-up/sign-in.ts'

const icon = readAsset('lab/icon.svg')
const scripts = ['lab/ages.js', 'lab/follow-changes.js', 'lab/live.js', 'lab/faults.js']
const ownAssets = ['lab/lab.css', ...scripts].map(readAsset)

/** The schemas of all answers. The schema of a request is next to the handler of the request. */
const schemas: Record<string, Schema> = {
  ...loginSchemas,
  ...harSchemas,
  ...mailSchemas,
  ...faultSchemas,
  ...personSchemas,
  ...groupSchemas,
  ...clientSchemas,
  ...lifetimesSchemas,
  ...signedInSchemas,
  ...expiredSchemas,
  ...resetSchemas,
  Error: errorSchema,
}

export interface Lab {
  server: FastifyInstance
  /** Records a step of the portal or the API. */
  record(step: LabStep): void
  /** Returns the address of the page about the step with this id. The page exists only after the step was recorded. */
  urlOf(stepId: string): string
  /**
   * Returns a function that makes faults happen on a listener. Call this function before anything else is added to the
   * listener.
   */
  addFaults(platform: PlatformAccess): (server: FastifyInstance, listener: Step['listener']) => void
  faults: OrderedFaults
  mailbox: Mailbox
}

export interface LabOptions {
  addresses: Omit<LabAddresses, 'labUrl'>
  /** The public addresses of the laboratory. Links use the first address. */
  labUrls: string[]
  token: Secret | undefined
  clock: () => Date
  logger: FastifyBaseLogger
  /** The services for the set-up calls. Without these services, the laboratory has no set-up calls. */
  setUp?: SetUpServices | undefined
  namesOf?: NamesOf
  bounds?: Bounds
}

export async function buildLab(options: LabOptions): Promise<Lab> {
  const { labUrls, token, clock, logger, setUp, bounds, namesOf = async () => new Map() } = options
  const addresses: LabAddresses = { ...options.addresses, labUrl: labUrls[0]! }
  const hide = createHide()
  const logins = createLogins(bounds)
  const orderedFaults = createOrderedFaults({ clock, hashState: hide.hash })
  const traps = createTraps()
  const mailbox = createMailbox({ clock, labUrl: addresses.labUrl })

  const server = createServer({ logger, toBody: (status, message) => ({ error: { status, message } }) })
  answerInLabDialect(server)
  server.addHook('onRequest', async (_request, reply) => void reply.headers(labHeaders))
  server.addHook('onRequest', guardLab(labUrls, token))
  server.addHook('preHandler', refuseUnreadBody)

  await describeRoutes(server, schemas, introduction(addresses, token))
  server.get('/lab/v1/openapi.json', async () => server.swagger())

  const login = loginCalls({ logins, hide, addresses, clock, namesOf })
  const events = stepStream({ logins, addresses, clock })
  server.get('/lab/v1/logins', login.list)
  server.post('/lab/v1/logins/search', login.search)
  server.get('/lab/v1/logins/:id', login.show)
  server.get('/lab/v1/logins/:id/har', login.showHar)
  server.get('/lab/v1/events', events.stream)
  const mail = mailboxRoutes(mailbox)
  server.get('/lab/v1/mailbox', mail.list)

  const faults = faultCalls(orderedFaults)
  server.post('/lab/v1/faults', faults.order)
  server.get('/lab/v1/faults', faults.list)
  server.delete('/lab/v1/faults', faults.removeAll)
  server.get('/lab/v1/faults/catalogue', faults.showCatalogue)
  server.get('/lab/v1/faults/:id', faults.show)
  server.delete('/lab/v1/faults/:id', faults.remove)

  if (setUp) {
    server.post('/lab/v1/people', personCall(setUp))
    server.post('/lab/v1/groups', groupCall(setUp))
    server.post('/lab/v1/applications', applicationCall(setUp))
    server.put('/lab/v1/applications/:id/lifetimes', lifetimesCall(setUp))
    server.post('/lab/v1/sign-in', signInCall(setUp, explain))
    server.post('/lab/v1/expire', expireCall(setUp))
    const forgetFaults = (clientIds: readonly string[]) =>
      void orderedFaults.remove(({ clientId }) => clientId !== undefined && clientIds.includes(clientId))
    server.post('/lab/v1/reset', resetCall(setUp, forgetFaults))
  }

  await registerViews(server, {
    layout: 'lab/layout',
    icon,
    assets: [stylesheet, localTimes, ...ownAssets],
    context: { addresses },
  })
  const list = listRoutes({ logins, addresses, clock, hide, namesOf })
  const page = loginPage({ logins, addresses, namesOf, clock })
  const faultForms = faultPage({ logins, orderedFaults, namesOf })
  const live = changeStream(logins)
  server.get('/live', live.stream)
  await server.register(async pages => {
    pages.addHook('onRequest', async (_request, reply) => void reply.headers(labPageHeaders))
    await pages.register(formbody)
    pages.get('/', list.show)
    pages.post('/search', takesForms, list.search)
    pages.get('/faults', faultForms.show)
    pages.post('/faults/order', { ...takesForms, bodyLimit: longestOrder }, faultForms.order)
    pages.post('/faults/cancel', takesForms, faultForms.cancel)
    pages.get('/logins/:id', page.show)
    pages.get('/requests/:id', page.showRequest)
    pages.get('/reference', referenceRoutes().show)
    pages.get('/mailbox', mail.show)
  })
  const verdicts = createVerdictLog({ logins, addresses, clock }, logger)
  logins.listen(verdicts.write)
  server.addHook('preClose', async () => {
    verdicts.end()
    events.endAll()
    live.endAll()
    login.endWaits()
  })
  await server.ready()

  function explain(requestId: string): string | undefined {
    const reason = logins.findStep(requestId)?.step.reason
    return reason && guidanceOf(reason).found
  }

  return {
    server,
    record: step => void logins.record(recordStep(step, hide)),
    addFaults: platform => (server, listener) => {
      addFaultHooks(server, listener, { orderedFaults, traps, platform, logins, hide })
      traps.addTo(server, platform.noteTrap)
    },
    faults: orderedFaults,
    mailbox,
    urlOf: stepId => `${addresses.labUrl}/requests/${stepId}`,
  }
}

function introduction({ labUrl }: LabAddresses, token: Secret | undefined): Description {
  return {
    title: 'Laboratory of the sandbox',
    version: '1.0',
    description:
      'The laboratory shows what clients did at the sandbox and why requests failed. It causes the faults that you order, and creates people and clients for tests. ' +
      'Every POST and PUT must send Content-Type: application/json. Unknown fields are refused.',
    url: labUrl,
    tags: ['What happened', 'Faults', 'Set-up'],
    security: {
      labToken: { type: 'http', scheme: 'bearer', description: 'The value of the setting LAB_TOKEN, if it is set.' },
    },
    isOpen: token === undefined,
  }
}
