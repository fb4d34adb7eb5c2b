// Makes the context of a check: its browsers, its people, the platform, and the records of its requests.
import { setTimeout as wait } from 'node:timers/promises'
import type { Browser as Chromium } from 'playwright-core'
import type { LabStep } from '../sandbox/lab/record/recorded.ts'
import {
  type Browser,
  createBrowser,
  type HttpExchange,
  isLost,
  type LostExchange,
  type Page,
} from './browser/browser.ts'
import { type Send, sendOverNetwork } from './browser/send.ts'
import { openWindow, type Window } from './browser/window.ts'
import { Failed, failureOrObstacle, NotApplicable, type Obstacle, Undecided } from './check.ts'
import type { ChangedSettings, ClientProcess } from './client-process.ts'
import { loginValuesIn, loginValuesOf } from './correlation.ts'
import { describePage, statusOf } from './findings.ts'
import type { Slot } from './limiter.ts'
import type { FaultOptions, Person, Platform } from './platform.ts'
import { isCallOfUser, isTokenCall } from './platform-calls.ts'
import { type RawAnswer, type RawBytes, sendBytes } from './raw-connection.ts'
import { type RawRequest, sendRaw } from './raw-request.ts'
import { describeHttpExchange, describeStep } from './report/describe.ts'
import type { Settings } from './settings.ts'
import { leadsTo } from './steps/addresses.ts'
import { findLeaksOf, secret, tokenSecrets } from './steps/leaks.ts'
import { endIfScripted } from './steps/page-content.ts'
import { readSetCookie } from './steps/set-cookies.ts'
import { tokensIssuedIn, tokensSentIn } from './tokens.ts'

/** A login that has reached the portal. */
export interface Start {
  /** The address at the portal to which the client sent the browser. */
  url: URL
  state: string | undefined
  page: Page
}

/** Returns the login that the browser began before it stopped at the redirect to the portal. */
export function readStart(page: Page): Start {
  const url = new URL(page.stoppedAt!)
  return { url, state: url.searchParams.get('state') ?? undefined, page }
}

/** Returns the login that this visit began, or undefined if it began none. */
export function startIn(page: Page): Start | undefined {
  return URL.parse(page.stoppedAt ?? '')?.searchParams.has('response_type') ? readStart(page) : undefined
}

/**
 * If no fault is ordered and the sandbox takes longer than this to send a page, the machine is too busy to judge the
 * client.
 */
const lateAnswerMs = 4000

/** The fix for a check that could not begin, because its login failed. The check's own fix would not help. */
const failedLoginFix =
  'Find out why nobody is signed in after this login. The check needs a signed-in visitor, so it has not tested what its title says. If other logins of this run work, look for data that the client shares between requests from several visitors.'

export type CheckContext = ReturnType<typeof createContext>

interface ContextOptions {
  settings: Settings
  platform: Platform
  clientProcess: ClientProcess | undefined
  /** At each restart in this context, these settings replace the client's own settings. */
  changedSettings?: ChangedSettings | undefined
  /** The real browser from --browser, if the option is set. */
  chromium?: Chromium | undefined
  /**
   * True if no other check runs at the same time. All requests at the platform then belong to this check, and its
   * faults cannot affect another check.
   */
  isAlone: boolean
  /** The reason why a plain login does not work, if there is one. */
  obstacle?: Obstacle | undefined
  pause?: Slot['pause'] | undefined
  waitFor?: Slot['waitFor'] | undefined
}

/** A second context of a check, with its own platform. */
interface AttachedContext {
  platform: Pick<Platform, 'leaks'>
  end(): Promise<void>
  secrets(): string[]
  firstLost(): LostExchange | undefined
}

/**
 * Returns everything in an answer that scripts and people can read: the body, the headers, and the cookies without
 * HttpOnly.
 */
function readableText({ response }: HttpExchange): string {
  if (!('status' in response)) return ''
  const cookies = response.setCookies.filter(line => !readSetCookie(line).isHttpOnly)
  return [response.body, ...response.headers.values(), ...cookies].join('\n')
}

export function createContext({
  settings,
  platform: wholePlatform,
  clientProcess,
  changedSettings,
  chromium,
  isAlone,
  obstacle,
  pause = ms => wait(ms),
  waitFor = promise => promise,
}: ContextOptions) {
  // `settle` may wait 200 ms for each open request of another check. With `waitFor`, other checks can run during this
  // time.
  const platform: Platform = { ...wholePlatform, settle: ms => waitFor(wholePlatform.settle(ms), 20) }
  /** The requests of this check's browsers, with their responses. */
  const httpExchanges: HttpExchange[] = []
  /** The states and codes of this check's logins, oldest first. */
  const states = new Set<string>()
  const codes = new Set<string>()
  /** All people of this check: its visitor, and the others. */
  const people: Person[] = []
  let ownPerson: Promise<Person> | undefined
  /** The faults that this check has ordered. */
  const faults: { id: string; name: string }[] = []
  const windows: Window[] = []
  const attached: AttachedContext[] = []
  /** Set as soon as the check ends. */
  let ending: Promise<void> | undefined
  /**
   * A check that has reached its time limit may still run. Its requests, faults and restarts would affect the next
   * checks.
   */
  const refuseAfterEnd = () => {
    if (ending) throw new Error('The check has ended.')
  }
  const firstStep = platform.steps.length

  /** Records the exchange, and returns whether it is an exchange with the client. */
  function note(exchange: HttpExchange): boolean {
    httpExchanges.push(exchange)
    const { response } = exchange
    const isWithClient = isOfClient(exchange)
    if ('setCookies' in response && isWithClient)
      for (const { isHttpOnly, value } of response.setCookies.map(readSetCookie))
        if (isHttpOnly) platform.cookieValues.add(value)
    const addresses = [exchange.request.url, 'headers' in response ? response.headers.get('location') : null]
    for (const address of addresses) noteLoginValues(address ?? '')
    if (isWithClient) noteStart(exchange)
    return isWithClient
  }

  function noteLoginValues(address: string): void {
    const found = loginValuesIn(address)
    for (const state of found.states) states.add(state)
    for (const code of found.codes) codes.add(code)
  }

  function noteOfBrowser(exchange: HttpExchange): void {
    if (!note(exchange)) return
    const visitors = new Set(people.map(({ firstName }) => firstName))
    platform.answerMistakes.note(exchange, httpExchanges, visitors)
  }

  function noteStart({ response }: HttpExchange): void {
    const location = 'headers' in response ? URL.parse(response.headers.get('location') ?? '') : null
    if (!location || !isPortal(location)) return
    const state = location.searchParams.get('state')
    if (state) platform.begunStates.push(state)
  }

  /** Looks for tokens and the client secret in the headers and bodies that the client has sent to a browser. */
  function noteLeaks(): void {
    if (httpExchanges.length === 0) return
    const secrets = [
      ...secret('the client secret', platform.clientSecret.reveal()),
      ...platform.steps.slice(firstStep).flatMap(step => (isTokenCall(step) && isOurs(step) ? tokenSecrets(step) : [])),
    ]
    const findLeak = findLeaksOf(secrets)
    const answers = httpExchanges.filter(exchange => 'status' in exchange.response && isOfClient(exchange))
    if (!findLeak(answers.map(readableText).join('\n'))) return
    for (const exchange of answers) {
      const leak = findLeak(readableText(exchange))
      if (!leak) continue
      const { method, url } = exchange.request
      const reason = `The answer to ${method} ${url.replace(/\?.*$/s, '')} with status ${statusOf(exchange)} contains ${leak.what}.`
      platform.leaks.push({ reason, evidence: describeHttpExchange(exchange) })
    }
  }

  /**
   * Whether a step belongs to this check: the user of the step is one of the check's people, or the step contains a
   * state or a code of one of the check's logins.
   */
  function isOurs(step: LabStep): boolean {
    if (isAlone || people.some(({ id }) => id === step.about.userId)) return true
    const values = loginValuesOf(step)
    return values.states.some(state => states.has(state)) || values.codes.some(code => codes.has(code))
  }

  const isPortal = (url: URL) => url.origin === platform.portalUrl
  const origins = [settings.client, settings.replica]
  const isOfClient = ({ request }: HttpExchange) => {
    const origin = URL.parse(request.url)?.origin
    return origin !== undefined && origins.includes(origin)
  }
  const clientUrl = (path: string, origin = settings.client) => (/^https?:/.test(path) ? path : origin + path)

  async function close(): Promise<void> {
    noteLeaks()
    await Promise.all(attached.map(other => other.end()))
    for (const other of attached) platform.leaks.push(...other.platform.leaks)
    await Promise.all(windows.map(window => window.close()))
  }

  const context = {
    settings,
    platform,
    clientProcess,

    /** The position in the output of the client at which this check begins. */
    outputStart: clientProcess?.outputEnd() ?? 0,

    /** Resolves after this time. Other checks can run while the check waits. */
    pause,

    /** Opens a new browser without cookies. By default, it opens a new connection for each request. */
    browser({ timeoutMs = settings.patienceMs, send = sendOverNetwork } = {}): Browser {
      const sendInTime: Send = async (...sent) => {
        refuseAfterEnd()
        return waitFor(send(...sent))
      }
      return createBrowser({ timeoutMs, onHttpExchange: noteOfBrowser, send: sendInTime })
    },

    /** Opens a window of the real browser, without cookies. The window closes when the check ends. */
    async window(): Promise<Window> {
      if (!chromium) throw new NotApplicable('no real browser was named (--browser chromium)')
      refuseAfterEnd()
      const window = await openWindow(chromium, { patienceMs: settings.patienceMs, onHttpExchange: noteOfBrowser })
      if (ending) await window.close()
      refuseAfterEnd()
      windows.push(window)
      return window
    },

    /** Makes an address from a path, at the client or at another instance. */
    url: clientUrl,

    /** Whether this is an address of the portal. */
    isPortal,

    /**
     * An option for a browser's `visit` and `submit` functions. With this option, the browser stops before a redirect
     * to the portal.
     */
    beforePortal: { stopAt: isPortal },

    /** The same kind of option: the browser stops before a redirect to an address outside the client. */
    beforeLeaving: { stopAt: ({ origin }: URL) => origin !== settings.client },

    /** Returns the visitor of this check. Every call returns the same person. */
    person(): Promise<Person> {
      ownPerson ??= context.otherPerson()
      return ownPerson
    },

    /**
     * Forgets the visitors of this check. The next call of `person` returns a new visitor, and from now on no page may
     * show the name of an earlier visitor.
     */
    forgetPeople(): void {
      people.length = 0
      ownPerson = undefined
    },

    /** Makes a new person the visitor of this check. */
    async replaceVisitor(): Promise<void> {
      ownPerson = context.otherPerson()
      await ownPerson
    },

    /** Makes a new person. The visitor of this check stays the same. */
    async otherPerson(): Promise<Person> {
      const person = await platform.newPerson()
      people.push(person)
      return person
    },

    /**
     * Begins a login and stops before the portal. Fails if the client does not redirect to the portal. If the visitor
     * is already signed in, the client may show its own pages instead of beginning a login. The check then does not
     * apply.
     */
    async startLogin(browser: Browser, path = settings.login): Promise<Start> {
      let page = await context.visitUntilPortal(browser, path)
      const wasRedirectedInClient = page.stoppedAt === undefined && page.trail.length > 1
      if (wasRedirectedInClient && settings.page) {
        for (const person of people)
          if (await context.isSignedIn(browser, { person }))
            throw new NotApplicable('the client does not begin a login for a visitor who is signed in')
        // The client may have noticed only now that the session has ended.
        page = await context.visitUntilPortal(browser, path)
      }
      if (page.stoppedAt === undefined) {
        endIfScripted(page, settings)
        const failure = new Failed(`${path} did not lead to the login portal, but to ${describePage(page)}.`)
        throw failureOrObstacle(failure, obstacle, 'start')
      }
      return readStart(page)
    },

    /**
     * Opens a page, and stops before a redirect to the portal. `stoppedAt` of the page is then the address at the
     * portal.
     */
    async visitUntilPortal(browser: Browser, path: string): Promise<Page> {
      return browser.visit(clientUrl(path), { stopAt: isPortal })
    },

    /**
     * Returns the callback address to which the portal redirects this person after the login. No browser opens this
     * address.
     */
    async authorize(start: Start, person?: Person): Promise<URL> {
      const visitor = person ?? (await context.person())
      const before = platform.steps.length
      const location = await platform.authorize(visitor, start.url)
      // If the visitor is signed in to the portal, the portal reports a wrong login request as an error in the
      // callback.
      if (!location || !leadsTo(location, platform.redirectUri) || !new URL(location).searchParams.has('code')) {
        await platform.settle()
        const refusal = platform.steps.slice(before).findLast(({ kind, reason }) => kind === 'authorize' && reason)
        const why = refusal?.reason ? ` (${refusal.reason})` : ''
        const failure = new Failed(`The portal refused this login request${why}: ${start.url.search}`, [
          ...start.page.trail.slice(-2).map(describeHttpExchange),
          ...(refusal ? [describeStep(refusal)] : []),
        ])
        throw failureOrObstacle(failure, obstacle, 'portal')
      }
      noteLoginValues(location)
      platform.codes.push(new URL(location).searchParams.get('code')!)
      return new URL(location)
    },

    /**
     * Makes a whole login as a visitor does: opens the login path, sends the portal's form, and follows the callback.
     * Returns the page after the login.
     */
    async signIn(browser: Browser, { person }: { person?: Person } = {}): Promise<Page> {
      const visitor = person ?? (await context.person())
      const page = await browser.visit(clientUrl(settings.login))
      const isAtPortal = isPortal(new URL(page.url))
      const form = page.forms.find(
        ({ action, fields }) => action.endsWith('/sign-in') && fields.some(([name]) => name === 'password'),
      )
      if (isAtPortal && form) return browser.submit(page, form, { email: visitor.email, password: visitor.password })
      // If the visitor already has a session at the portal, the portal has redirected the browser back at once.
      const wasAtPortal = page.trail.some(({ request }) => isPortal(new URL(request.url)))
      if (!isAtPortal && wasAtPortal) return page
      if (!isAtPortal) endIfScripted(page, settings)
      const where = describePage(page)
      const failure = new Failed(`${settings.login} did not lead to the portal's sign-in page, but to ${where}.`)
      throw failureOrObstacle(failure, obstacle, 'portal')
    },

    /**
     * Signs in, and fails if the visitor is not signed in afterwards. If plain logins do not work, the check counts as
     * not run.
     */
    async signedIn({
      browser: given,
      ...options
    }: {
      person?: Person
      browser?: Browser
    } = {}): Promise<{ browser: Browser; page: Page; person: Person }> {
      const browser: Browser = given ?? context.browser()
      const page = await context.signIn(browser, options)
      if (!(await context.isSignedIn(browser, options))) {
        // A sandbox that is slow to answer the browser is also slow to answer the client, so the client may have
        // reached a deadline.
        const late = page.trail.find(one => isPortal(new URL(one.request.url)) && one.durationMs > lateAnswerMs)
        if (late)
          throw new Undecided(
            `The machine is too busy: during a login, the sandbox answered the browser only after ${Math.round(late.durationMs / 1000)} seconds.`,
          )
        throw failureOrObstacle(
          new Failed('Nobody is signed in after a plain login.', [], failedLoginFix),
          obstacle,
          'login',
        )
      }
      return { browser, page, person: options.person ?? (await context.person()) }
    },

    /**
     * Opens a page that needs a session. True if the client then called the API with this person's token, and the API
     * accepted the call.
     */
    async isSignedIn(
      browser: Browser,
      { person, origin }: { person?: Person; origin?: string } = {},
    ): Promise<boolean> {
      if (!settings.page)
        throw new NotApplicable(
          'no page behind the login was named (--page), so the suite cannot tell who is signed in',
        )
      const visitor = person ?? (await context.person())
      const before = platform.steps.length
      await browser.newTab().visit(clientUrl(settings.page, origin), { stopAt: isPortal })
      await platform.settle()
      return platform.steps.slice(before).some(step => isCallOfUser(step, visitor.id) && step.response.status < 400)
    },

    /**
     * Returns the steps of this check that have arrived at the platform, oldest first. Call `settle` before this
     * function, because the platform records a request a moment after its answer.
     */
    arrived(...kinds: LabStep['kind'][]): LabStep[] {
      // A call with a token from this check belongs to this check, even if the platform does not know the token's
      // owner.
      const tokens = new Set<unknown>()
      return platform.steps.slice(firstStep).filter(step => {
        if (!isOurs(step) && !tokensSentIn(step).some(token => tokens.has(token))) return false
        for (const token of tokensIssuedIn(step)) tokens.add(token)
        return kinds.length === 0 || kinds.includes(step.kind)
      })
    },

    /**
     * Runs an action, such as a visit to a page. Returns the result of the action, and the steps of this check that
     * arrived at the platform during the action, oldest first. `settleMs` is the longest time to wait for requests that
     * the platform has not yet answered.
     */
    async during<T>(act: () => Promise<T>, settleMs?: number): Promise<{ result: T; steps: LabStep[] }> {
      const before = new Set(context.arrived())
      const result = await act()
      await platform.settle(settleMs)
      return { result, steps: context.arrived().filter(step => !before.has(step)) }
    },

    /** Returns the exchanges of a code for tokens, oldest first. */
    async codeExchanges(): Promise<LabStep[]> {
      await platform.settle()
      return context.arrived('exchange')
    },

    /**
     * Orders a fault in the laboratory. The fault applies to the last login of this check. If this check has not begun
     * a login, the fault applies to the next caller. The returned function removes the fault.
     */
    async order(name: string, options: FaultOptions = {}): Promise<() => Promise<void>> {
      const state = [...states].at(-1)
      // After this error, the runner repeats the check alone.
      if (!isAlone && state === undefined) throw new Undecided(`The fault ${name} could affect another check.`)
      refuseAfterEnd()
      const id = await platform.orderFault(name, { ...(state !== undefined && { state }), ...options })
      faults.push({ id, name })
      return () => platform.dropFault(id)
    },

    /**
     * Returns how many requests the ordered faults with this name have affected. Call this before the faults are
     * removed. If a fault leaves a request without an answer, the platform records the request only after the client
     * has closed the connection. This function counts such a request at once.
     */
    timesMet: (name: string): number =>
      faults.filter(fault => fault.name === name).reduce((sum, { id }) => sum + platform.timesMet(id), 0),

    /** Removes the faults that this check has ordered. */
    async dropFaults(): Promise<void> {
      for (const { id } of faults.splice(0)) await platform.dropFault(id)
    },

    /**
     * Runs the function while no other check runs a function with `inTurn`. A check needs this if it judges calls that
     * the client makes without a visitor, because such a call could belong to another check.
     */
    async inTurn<T>(run: () => Promise<T>): Promise<T> {
      const end = await waitFor(platform.takeTurn(), 20)
      try {
        return await run()
      } finally {
        end()
      }
    },

    /** Sends one raw request, without a browser. Waits for the answer as long as a browser, if no time limit is set. */
    async request(url: string, request: RawRequest = {}): Promise<HttpExchange> {
      refuseAfterEnd()
      const exchange = await waitFor(sendRaw(clientUrl(url), { timeoutMs: settings.patienceMs, ...request }))
      if (note(exchange)) platform.answerMistakes.noteContent(exchange)
      return exchange
    },

    /** Sends bytes on a separate connection, for requests that `request` cannot send. */
    async sendBytes(bytes: RawBytes): Promise<RawAnswer> {
      refuseAfterEnd()
      return waitFor(sendBytes(settings.client, bytes))
    },

    /** Restarts the client. `changed`: settings that get other values until the next restart. */
    async restartClient(changed?: ChangedSettings): Promise<void> {
      refuseAfterEnd()
      await clientProcess!.restart(changedSettings ? { ...changedSettings, ...changed } : changed)
    },

    /**
     * Returns the last requests of this check's browsers, and the last requests at the platform, newest last. Reports
     * show these requests if a check gives no evidence.
     */
    evidence(): string[] {
      const steps = platform.steps.slice(firstStep).filter(step => isOurs(step) && step.kind !== 'page')
      return [...httpExchanges.slice(-6).map(describeHttpExchange), ...steps.slice(-6).map(describeStep)]
    },

    /**
     * Returns the first request of this check that the client or its second instance did not answer. Prefers a broken
     * connection to an answer that was only late, because the client may have ended.
     */
    firstLost(): LostExchange | undefined {
      const own = httpExchanges.filter(isLost).filter(isOfClient)
      const others = attached.map(other => other.firstLost()).filter(exchange => exchange !== undefined)
      const all = [...own, ...others]
      return all.find(({ response }) => response.loss === 'broken') ?? all[0]
    },

    /**
     * Attaches a second context of this check, with its own platform. It ends with the check, and reports hide its
     * secrets. Of the mistakes that it sees, the checks of the whole run get only the leaks.
     */
    attach(other: AttachedContext): void {
      refuseAfterEnd()
      attached.push(other)
    },

    /**
     * Returns the secret values of this check, longest first. No report may show these values. With `ofEarlierChecks`,
     * also returns the values of all earlier checks.
     */
    secrets({ ofEarlierChecks = false } = {}): string[] {
      const steps = ofEarlierChecks ? platform.steps : platform.steps.slice(firstStep).filter(isOurs)
      const earlier = ofEarlierChecks ? [...platform.begunStates, ...platform.codes, ...platform.cookieValues] : []
      const cookies = httpExchanges.flatMap(({ response }) => ('setCookies' in response ? response.setCookies : []))
      return [
        platform.clientSecret.reveal(),
        ...states,
        ...codes,
        ...earlier,
        ...(ofEarlierChecks ? steps.flatMap(step => Object.values(loginValuesOf(step)).flat()) : []),
        ...steps.flatMap(step => [...tokensIssuedIn(step), ...tokensSentIn(step)]).map(String),
        ...cookies.map(line => readSetCookie(line).value),
        ...attached.flatMap(other => other.secrets()),
      ]
        .filter(({ length }) => length >= 12)
        .sort((one, other) => other.length - one.length)
    },

    noteLeaks,

    /** Resolves when everything that the check has opened is closed. Later calls return the same promise. */
    end(): Promise<void> {
      ending ??= close()
      return ending
    },
  }
  return context
}
