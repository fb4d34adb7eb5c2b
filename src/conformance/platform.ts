// Starts the platform for the client under test, as a sandbox with a laboratory in this process. Creates people, and
// records the requests.
import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { createSandbox } from '../sandbox/create-sandbox.ts'
import { endLink, makeGroup } from '../sandbox/groups/groups.ts'
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import { rememberConsent } from '../sandbox/store/consents.ts'
import { markAsMade } from '../sandbox/store/for-lab/marks.ts'
import { createPortalSession } from '../sandbox/store/portal-sessions.ts'
import { createUser } from '../sandbox/store/users.ts'
import { hashToken, makeSecret } from '../sandbox/tokens/opaque-token.ts'
import { Secret } from '../sandbox/values/secret.ts'
import { recordAnswerMistakes } from './answer-mistakes.ts'
import { type OtherSite, otherLoopback, startOtherSite } from './other-site.ts'
import type { Settings } from './settings.ts'

export interface Person {
  id: string
  email: string
  password: string
  firstName: string
  groupId: string
  /**
   * The cookie of the person's session at the portal, as `name=value`. A browser has this cookie only if a check sets
   * it.
   */
  portalCookie: string
}

/** The fields of a fault order, without the name of the fault. */
export interface FaultOptions {
  times?: number | 'always'
  skip?: number
  state?: string | undefined
  options?: Record<string, unknown>
}

/** A call that has arrived at the API over the network. */
interface ApiCall extends Pick<IncomingMessage, 'method' | 'url'> {
  /** Whether an earlier call has used the same connection. */
  isOnUsedConnection: boolean
}

export type Platform = Awaited<ReturnType<typeof startPlatform>>

/** Marks the suite's own requests to the platform, so that they do not count as requests of the client. */
const own = { 'x-conformance': '1' }

/** Rejects with EADDRINUSE if another program takes the port at this moment. */
export async function startPlatform(settings: Settings, { clock = () => new Date() } = {}) {
  const host = otherLoopback(new URL(settings.client).hostname)
  const [portalPort, apiPort, labPort] = await Promise.all([
    whenFree(settings.portalPort, settings.host),
    whenFree(settings.apiPort, settings.host),
    whenFree(settings.labPort, '127.0.0.1'),
  ])
  const clientId = settings.clientId ?? randomUUID()
  const clientSecret = settings.clientSecret ?? new Secret(makeSecret())
  const redirectUri = settings.client + settings.callback
  const steps: LabStep[] = []
  const sandbox = await createSandbox({
    clientId,
    clientSecret: clientSecret.reveal(),
    redirectUris: [redirectUri],
    email: 'owner@conformance.test',
    clock,
    onStep: step => {
      if (!step.request.headers['x-conformance']) steps.push(step)
    },
    config: {
      host: settings.host,
      portalPort,
      apiPort,
      labPort,
      portalUrl: settings.portalUrl ?? `http://${host}:${portalPort}`,
      apiUrl: settings.apiUrl ?? `http://${host}:${apiPort}`,
    },
  })
  const { portalUrl, apiUrl, labUrl, user, passwords } = sandbox
  const { portal, api, store, lab } = sandbox.servers
  const otherSite: OtherSite = await startOtherSite(settings.client)
  const passwordHash = await passwords.hash(user.password)
  let people = 0
  let rounds = 0
  let lastTurn = Promise.resolve()

  const apiCalls: ApiCall[] = []
  const usedConnections = new WeakSet<Socket>()
  api.server.on('request', ({ method, url, socket }: IncomingMessage) => {
    apiCalls.push({ method, url, isOnUsedConnection: usedConnections.has(socket) })
    usedConnections.add(socket)
  })

  const groupIds = new Set<string>()
  const answerMistakes = recordAnswerMistakes({
    clients: [settings.client, ...(settings.replica ? [settings.replica] : [])],
    portalUrl,
    apiUrl,
    loginPaths: [settings.login, settings.callback].map(pathOf),
    page: pathOf(settings.page),
    privatePaths: [settings.login, settings.callback, settings.page, settings.create].map(pathOf),
    groupIds,
    otherHosts: (['cross-site', 'same-site'] as const).map(site => new URL(otherSite.url('/', site)).host),
  })

  const askLab = (method: 'POST' | 'DELETE' | 'GET', url: string, payload?: object) =>
    lab!.inject({ method, url, headers: { host: new URL(labUrl).host }, ...(payload && { payload }) })

  return {
    portalUrl,
    apiUrl,
    labUrl,
    clientId,
    clientSecret,
    redirectUri,
    otherSite,
    /** The requests that have arrived so far, in the order in which the platform answered them. */
    steps,
    /** The calls of the client that have arrived at the API so far, in the order of their arrival. */
    apiCalls,
    /**
     * Things that checks have seen on pages of the client in this run. A check is undecided if it does not find a thing
     * that another check has seen.
     */
    shown: new Set<string>(),
    /** The states of all logins that the client has begun during the current round, in order. */
    begunStates: [] as string[],
    /** The codes of all logins of the current round. */
    codes: [] as string[],
    /** The values of all HttpOnly cookies that the client has set during the current round. */
    cookieValues: new Set<string>(),
    /** The client's answers that contained a token or the client secret. Each `reason` is one sentence. */
    leaks: [] as { reason: string; evidence: string }[],
    /** The mistakes in the client's answers to browsers. */
    answerMistakes,
    people: [] as Person[],
    /**
     * `isDone`: whether `failEachCall` has run in this round, so that each kind of call has failed. `isPrinted`:
     * whether the client has printed all its output about these calls.
     */
    eachCallFailed: { isDone: false, isPrinted: false },
    /** The positions in `steps` and in the client's output at which the current round of checks begins. */
    round: { step: 0, output: 0 },
    /**
     * Begins a round of checks. The first round includes everything since the client started. A later round judges
     * another version of the client.
     */
    beginRound(outputEnd: number): void {
      if (rounds++ > 0) {
        this.round = { step: steps.length, output: outputEnd }
        this.begunStates.length = 0
        this.codes.length = 0
        this.cookieValues.clear()
      }
      this.leaks.length = 0
      this.eachCallFailed = { isDone: false, isPrinted: false }
      answerMistakes.clear()
    },
    /**
     * Resolves when all earlier turns have ended and the caller's turn begins. The caller ends the turn by calling the
     * returned function.
     */
    async takeTurn(): Promise<() => void> {
      const earlier = lastTurn
      const { promise, resolve } = Promise.withResolvers<void>()
      lastTurn = promise
      await earlier
      return resolve
    },
    /** Orders a fault. Returns its id. */
    orderFault: async (fault: string, order: FaultOptions = {}) => sandbox.faults.order({ fault, ...order }).id,
    dropFault: async (id: string) => void sandbox.faults.remove(id),
    /** Returns how many requests this fault has affected, including requests that are not recorded yet. */
    timesMet: (id: string): number => sandbox.faults.list().find(fault => fault.id === id)?.consumed ?? 0,
    askLab,

    /** Creates a person who is in a group and has allowed the client at the consent page. */
    async newPerson(): Promise<Person> {
      const firstName = `Robin${++people}`
      const email = `robin${people}@conformance.test`
      const now = clock()
      const id = await store.write(async db => {
        const created = await createUser(db, { email, firstName, lastName: `Miller${people}`, passwordHash }, now)
        // Marks the account as created by a tool, because the laboratory makes tokens expire only for such accounts.
        if (created) await markAsMade(db, 'users', created, 'conformance')
        return created
      })
      if (id === undefined) throw new Error('The person already exists.')
      const group = await makeGroup({ store, clock }, { name: `Group of ${firstName}`, userId: id })
      const session = makeSecret()
      await store.write(db => rememberConsent(db, id, clientId, now))
      const expiresAt = new Date(now.getTime() + 3_600_000)
      await store.write(db => createPortalSession(db, { idHash: hashToken(session), userId: id, now, expiresAt }))
      const person: Person = {
        id,
        email,
        password: user.password,
        firstName,
        groupId: group.id,
        portalCookie: `__Host-portal-session=${session}`,
      }
      this.people.push(person)
      groupIds.add(group.id)
      return person
    },

    /** Ends the person's membership in their own group. */
    async leaveOwnGroup({ id, groupId }: Person): Promise<void> {
      await endLink({ store }, { userId: id, groupId, callerId: id })
    },

    /**
     * Returns the address to which the portal redirects this person's browser, with a code. Returns undefined if the
     * portal refuses the login request.
     */
    async authorize(person: Person, start: string | URL): Promise<string | undefined> {
      const { pathname, search } = new URL(start)
      const response = await portal.inject({
        url: pathname + search,
        headers: { ...own, host: new URL(portalUrl).host, cookie: person.portalCookie },
      })
      return response.headers.location
    },

    /** Returns an access token for the API, as the portal would issue it to the client. */
    async tokenOf(person: Person): Promise<string> {
      const state = makeSecret()
      const query = new URLSearchParams({
        grant_type: 'authorization',
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        cancel_url: redirectUri,
        state,
      })
      const location = await this.authorize(person, `${portalUrl}/?${query}`)
      const form = new URLSearchParams({
        grant_type: 'authorization_code',
        code: new URL(location!).searchParams.get('code')!,
        client_id: clientId,
        client_secret: clientSecret.reveal(),
        redirect_uri: redirectUri,
        state,
      })
      const response = await portal.inject({
        method: 'POST',
        url: '/api/exchangeToken',
        headers: { ...own, 'content-type': 'application/x-www-form-urlencoded' },
        payload: `${form}`,
      })
      return response.json<{ access_token: string }>().access_token
    },

    /** Makes the API refuse this person's access tokens. The refresh tokens still work. */
    async endAccessTokens({ id }: Person): Promise<void> {
      const { statusCode, body } = await askLab('POST', '/lab/v1/expire', {
        what: 'access-token',
        userId: id,
        clientId,
      })
      if (statusCode !== 200) throw new Error(`The laboratory did not make the access tokens expire: ${body}`)
    },

    /** Makes one API call with this token. */
    async callApi(token: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
      const headers = { ...own, authorization: `Bearer ${token}` }
      return api.inject({ method, url, headers, ...(payload && { payload }) })
    },

    /**
     * Resolves when all earlier requests are recorded. For requests without an answer, the function waits only a short
     * time.
     */
    settle: sandbox.untilNoted,

    async close(): Promise<void> {
      await otherSite.close()
      await sandbox.close()
    },
  }
}

/** Returns the address without its query. */
function pathOf(address: string): string {
  return address.split('?')[0]!
}

/**
 * Returns the port if it is free on the host, and for localhost on every address of localhost. Otherwise returns 0, so
 * that the system chooses a free port.
 */
async function whenFree(port: number, host: string): Promise<number> {
  const addresses = host === 'localhost' ? await lookup(host, { all: true }) : [{ address: host }]
  for (const { address } of addresses) {
    const server = createServer()
    try {
      await once(server.listen(port, address), 'listening')
      await promisify(server.close.bind(server))()
    } catch (error) {
      // A hosts file can list ::1 for localhost even if the machine has no IPv6.
      if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') return 0
    }
  }
  return port
}
