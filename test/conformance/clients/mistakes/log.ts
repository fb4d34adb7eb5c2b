// Clients that print secrets or personal data.
import { createHash, randomBytes } from 'node:crypto'
import { correct } from '../behaviour.ts'
import { answerWith } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { type Call, isRecord } from '../platform.ts'
import { cookieOf, isEditOrRemoval } from '../requests.ts'
import type { Session, Visit } from '../visit.ts'

const printed = (name: string, checks: string | string[], what: (visit: Visit) => string) =>
  mistake(name, checks, { logLine: (visit, status) => `${visit.method} ${what(visit)} ${status}` })

/** Makes a call. If the call fails and `isMeant` is true, the client prints the whole call. */
async function printFailed(visit: Visit, request: Call, isMeant: boolean): Promise<[number, unknown]> {
  const print = () => isMeant && visit.settings.print(`failed: ${JSON.stringify(request)}`)
  try {
    const answered = await correct.send(visit, request)
    if (answered[0] >= 400 || !isRecord(answered[1])) print()
    return answered
  } catch (error) {
    print()
    throw error
  }
}

/** The sessions of a client that signs the ids of its sessions. */
const kept = new Map<string, Session>()

let printLine: ((line: string) => void) | undefined

export const log: Mistake[] = [
  printed('query-printed', ['log-code', 'log-refused-callback'], ({ url }) => url.pathname + url.search),
  printed(
    'state-printed',
    'log-state',
    ({ url, query }) => `${url.pathname} state=${query.get('state')} code=${query.get('code')}`,
  ),
  mistake('unreadable-requests-printed', 'log-unreadable-callback', {
    logUnreadable: (settings, request) => settings.print(`cannot read ${request.split('\r\n')[0]}`),
  }),
  printed(
    'settings-printed',
    'log-client-secret',
    ({ url, settings }) => `${url.pathname} ${JSON.stringify(settings)}`,
  ),
  mistake('exchange-printed', 'log-client-secret', {
    send(visit, request) {
      if (request.method === 'POST') visit.settings.print(`${request.url} ${request.body}`)
      return correct.send(visit, request)
    },
  }),
  mistake('tokens-printed', 'log-tokens', {
    readTokens(visit, answer) {
      visit.settings.print(`tokens: ${JSON.stringify(answer)}`)
      return correct.readTokens(visit, answer)
    },
  }),
  mistake('calls-printed', 'log-tokens', {
    send(visit, request) {
      visit.settings.print(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
      return correct.send(visit, request)
    },
  }),
  printed('cookies-printed', 'log-cookies', ({ url, headers }) => `${url.pathname} ${headers.cookie}`),
  printed('set-cookies-printed', 'log-cookies', ({ url, setCookies }) => `${url.pathname} ${setCookies.join(' ')}`),
  mistake('session-id-printed-without-its-route', 'log-cookies', {
    seal: (visit, name, value) => `${correct.seal(visit, name, value)}.node1`,
    unseal: (visit, name, text) => correct.unseal(visit, name, text.split('.')[0]!),
    logLine: (visit, status) =>
      `${visit.method} ${visit.url.pathname} ${status} ${cookieOf(visit, correct.sessionCookie)?.split('.')[0]}`,
  }),
  mistake('session-id-without-its-signature-printed', ['log-cookies', 'run-log-secrets'], {
    keepSession(visit, tokens) {
      const id = randomBytes(24).toString('base64url')
      const signature = createHash('sha256').update(`signed ${id}`).digest('base64')
      const visitor = correct.visitorOf(tokens, visit)
      const session = { accessToken: tokens.accessToken, visitor, expiresAt: Date.now() + tokens.seconds * 1000 }
      const value = `s:${id}.${signature}`
      kept.set(value, session)
      visit.setCookies.push(`__Host-sid=${encodeURIComponent(value)}; ${correct.sessionAttributes(tokens.seconds)}`)
      visit.settings.print(`signed in: session ${id}`)
      return session
    },
    readSession: ({ cookies }) =>
      kept.get(decodeURIComponent(cookies.find(([name]) => name === '__Host-sid')?.[1] ?? '')),
    readRefresh: () => undefined,
  }),
  mistake('address-of-a-callback-with-a-wrong-method-printed', 'log-refused-callback', {
    logLine: (visit, status) => `${visit.method} ${status === 405 ? visit.target : visit.url.pathname} ${status}`,
  }),
  mistake('address-of-a-callback-in-a-frame-printed', 'log-refused-callback', {
    logLine: (visit, status) => `${visit.method} ${status === 403 ? visit.target : visit.url.pathname} ${status}`,
  }),
  mistake('referer-of-each-request-printed', 'log-referer', {
    logLine: (visit, status) => `${visit.method} ${visit.url.pathname} ${status} "${visit.headers.referer ?? '-'}"`,
  }),
  mistake('failed-exchange-printed', 'log-failed-exchange', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status >= 400) visit.settings.print(`failed: ${JSON.stringify(request)}`)
      return [status, answer]
    },
  }),
  mistake('refused-tokens-printed', 'log-refused-tokens', {
    async exchange(visit, callback, login) {
      let answer: unknown
      const send = async (...call: Parameters<typeof correct.send>): ReturnType<typeof correct.send> => {
        const answered = await correct.send(...call)
        answer = answered[1]
        return answered
      }
      try {
        return await correct.exchange({ ...visit, behaviour: { ...visit.behaviour, send } }, callback, login)
      } catch (error) {
        visit.settings.print(`refused: ${JSON.stringify(answer)}`)
        throw error
      }
    },
  }),
  mistake('beginning-of-an-unreadable-answer-printed', ['log-unreadable-tokens', 'log-unreadable-list'], {
    send(visit, request) {
      const parse: typeof correct.parse = (text, type) => {
        const answer = correct.parse(text, type)
        if (answer === undefined) visit.settings.print(`cannot read: ${text.slice(0, 500)}`)
        return answer
      }
      return correct.send({ ...visit, behaviour: { ...visit.behaviour, parse } }, request)
    },
  }),
  mistake('refused-renewal-printed', 'log-refused-renewal', {
    readTokens(visit, answer) {
      try {
        return correct.readTokens(visit, answer)
      } catch (error) {
        visit.settings.print(`refused: ${JSON.stringify(answer)}`)
        throw error
      }
    },
  }),
  ...['401', '403', '500', 'reset', 'html'].map(kind =>
    mistake(`call-that-fails-is-printed-${kind}`, `log-api-${kind}`, {
      send: (visit, request) => printFailed(visit, request, request.url.includes('/apps/v1')),
    }),
  ),
  mistake('creation-that-fails-is-printed', 'log-api-form-refused', {
    send: (visit, request) =>
      printFailed(visit, request, request.method === 'POST' && request.url.endsWith('/apps/v1')),
  }),
  mistake('revocation-that-fails-is-printed', 'log-failed-revocation', {
    send: (visit, request) => printFailed(visit, request, request.url.endsWith('/api/revokeToken')),
  }),
  mistake('credentials-printed', 'log-created-secret', {
    created(visit, made, visitor) {
      visit.settings.print(`created: ${made}`)
      return correct.created(visit, made, visitor)
    },
  }),
  mistake('answers-of-the-platform-printed', ['log-created-secret', 'log-texts-of-the-api'], {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (isRecord(answer)) visit.settings.print(JSON.stringify(answer))
      return [status, answer]
    },
  }),
  printed('form-printed', ['log-forms', 'log-form-tokens'], ({ url, body }) => `${url.pathname} ${body}`),
  mistake(
    'name-of-a-new-application-logged',
    'log-forms',
    answerWith((answer, visit) => {
      const name = new URLSearchParams(visit.body).get('name')
      if (name && answer.status === 303) visit.settings.print(JSON.stringify({ message: `created ${name}` }))
      return answer
    }),
  ),
  mistake('refused-form-printed', 'log-refused-form', {
    wordsFor(error, visit) {
      if (visit.body) visit.settings.print(`form refused: ${visit.body}`)
      return correct.wordsFor(error, visit)
    },
  }),
  printed('line-of-a-page-query-printed', 'log-one-line', ({ url, query }) =>
    url.pathname === '/applications' ? `${url.pathname} ${query.get('x')}` : '',
  ),
  printed(
    'line-of-a-cookie-printed',
    'log-one-line',
    ({ url, cookies }) => `${url.pathname} ${decodeURIComponent(cookies.find(([name]) => name === 'x')?.[1] ?? '')}`,
  ),
  printed('line-of-a-visitor-printed', 'log-one-line', ({ url, cookies }) =>
    cookies.some(([name]) => name === correct.sessionCookie) ? decodeURIComponent(url.pathname) : url.pathname,
  ),
  mistake('return-address-printed', 'log-one-line', {
    afterStart(visit, answer) {
      visit.settings.print(`login for ${visit.query.get('returnTo')}`)
      return answer
    },
  }),
  printed('lines-of-strangers-printed', 'log-one-line', ({ url }) => decodeURIComponent(url.pathname)),
  printed(
    'field-of-a-form-printed',
    'log-one-line-form',
    ({ url, body }) => `${url.pathname} ${new URLSearchParams(body).get('description')}`,
  ),
  printed('field-of-a-change-printed', 'log-one-line-form', ({ url, body }) =>
    url.pathname.endsWith('/edit') ? `${url.pathname} ${new URLSearchParams(body).get('description')}` : url.pathname,
  ),
  ...['error', 'error_description', 'error_uri', 'subject', 'client_id', 'iss', 'code'].map(name =>
    mistake(`${name}-of-a-callback-printed`, 'log-one-line-callback', {
      forgetLogin(visit, state) {
        visit.settings.print(`callback with ${name} ${visit.query.get(name)}`)
        correct.forgetLogin(visit, state)
      },
    }),
  ),
  mistake('reason-of-a-cancelled-login-printed', 'log-one-line-callback', {
    async aroundRequest(visit, next) {
      if (visit.url.pathname === '/cancelled')
        visit.settings.print(`cancelled: ${visit.query.get('error_description')}`)
      return next()
    },
  }),
  mistake('states-printed-when-they-differ', 'log-state-of-failed-login', {
    findLogin(visit, state) {
      const login = correct.findLogin(visit, state)
      if (!login) visit.settings.print(`unknown state ${state}`)
      return login
    },
  }),
  mistake('both-states-of-an-exchange-printed', 'log-state-of-failed-login', {
    isStateOf(answer, state) {
      const isSame = correct.isStateOf(answer, state)
      if (!isSame) printLine?.(`got ${answer.state}, wanted ${state}`)
      return isSame
    },
    async aroundRequest(visit, next) {
      printLine = visit.settings.print
      return next()
    },
  }),
  mistake(
    'changed-name-printed',
    'log-changed-application',
    answerWith((answer, visit) => {
      if (isEditOrRemoval(visit) && visit.method === 'POST')
        visit.settings.print(`${new URLSearchParams(visit.body).get('name')}: ${answer.status}`)
      return answer
    }),
  ),
  mistake('name-of-a-removed-application-printed', 'log-changed-application', {
    async send(visit, call) {
      const [status, answer] = await correct.send(visit, call)
      const data = isRecord(answer) && isRecord(answer.data) ? answer.data : {}
      if (isEditOrRemoval(visit) && call.method === 'GET') visit.settings.print(`opened ${data.name}`)
      return [status, answer]
    },
  }),
  mistake('new-secret-printed', 'log-new-secret', {
    created(visit, text, visitor) {
      if (visit.url.pathname.endsWith('/secret')) visit.settings.print(`${text}`)
      return correct.created(visit, text, visitor)
    },
  }),
]
