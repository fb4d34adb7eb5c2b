// Clients that trust ids, text, sizes or headers in the platform's answers.
import { setTimeout as pause } from 'node:timers/promises'
import { type Behaviour, correct } from '../behaviour.ts'
import { answerWith, bodyWith } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { page } from '../pages.ts'
import { type Call, call, isRecord } from '../platform.ts'
import { isCreation, isList, isOfGroups } from '../requests.ts'
import { PlatformError, Refusal, type Visit } from '../visit.ts'

/** Calls the platform, and passes the response headers to `hear`. The correct client ignores these headers. */
function callWithHeaders(
  visit: Visit,
  request: Call,
  hear: (headers: Headers, status: number) => void,
): Promise<[number, unknown]> {
  return call(
    {
      ...visit.behaviour,
      readBody(response, most) {
        hear(response.headers, response.status)
        return correct.readBody(response, most)
      },
    },
    request,
  )
}

const idOf = (made: unknown) => (isRecord(made) ? made['@id'] : undefined)

/** After creating an application, the client redirects to an address that contains the id from the API's answer. */
function leadsTo(address: (id: string, visit: Visit) => string): Partial<Behaviour> {
  return {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (isCreation(request) && status === 201) visit.memory.set('created', idOf(answer))
      return [status, answer]
    },
    created: visit => ({ status: 303, headers: { location: address(String(visit.memory.get('created')), visit) } }),
  }
}

const rawErrors: Partial<Behaviour> = {
  parse: text => {
    try {
      return JSON.parse(text)
    } catch {
      return text
    }
  },
  async send(visit, request) {
    const [status, answer] = await correct.send(visit, request)
    if (!isList(request) || status < 400 || status === 401) return [status, answer]
    throw new Refusal(502, typeof answer === 'string' ? answer : JSON.stringify(answer))
  },
}

const rawMessages: Partial<Behaviour> = { html: text => text.replace(/"/g, '&quot;') }

const unpacked: Partial<Behaviour> = { unpacks: true, deadlineMs: 7000, readBody: response => response.text() }

const depthOf = (value: unknown): number => (Array.isArray(value) ? 1 + Math.max(0, ...value.map(depthOf)) : 0)

/**
 * The headers of the last answer for each visit. The key is the object with the visit's cookies, because the client
 * copies the visit itself for some calls.
 */
const headersOf = new WeakMap<Visit['cookies'], Headers>()

/** Takes the platform's last answer for which `isMet` is true, and sends all headers of this answer to the browser. */
const passesHeadersOnIf = (isMet: (call: Call, status: number) => boolean): Partial<Behaviour> => ({
  send: (visit, request) =>
    callWithHeaders(visit, request, (headers, status) => {
      if (isMet(request, status)) headersOf.set(visit.cookies, headers)
    }),
  async aroundRequest(visit, next) {
    const answer = await next()
    const own = ['content-type', 'content-length', 'content-encoding', 'transfer-encoding', 'connection', 'set-cookie']
    const headers = headersOf.get(visit.cookies) ?? new Headers()
    visit.setCookies.push(...headers.getSetCookie())
    return {
      ...answer,
      headers: { ...Object.fromEntries([...headers].filter(([name]) => !own.includes(name))), ...answer.headers },
    }
  },
})

/** Copies one header from the API's last answer. */
const answerWithHeader = (name: string): Partial<Behaviour> => ({
  send: (visit, request) => callWithHeaders(visit, request, headers => headersOf.set(visit.cookies, headers)),
  ...answerWith((answer, { cookies }) => {
    const value = headersOf.get(cookies)?.get(name)
    return value ? { ...answer, headers: { ...answer.headers, [name]: value } } : answer
  }),
})

const rawTexts = new WeakMap<Visit['cookies'], string>()

/** Whether the call reads applications. */
const isOfApplications = ({ method, url }: Call) => method === 'GET' && url.includes('/apps/v1')

export const apiAnswers: Mistake[] = [
  mistake('id-is-the-link', 'list-id-path', {
    itemOf: ({ behaviour }, { id, name }) => `<a href="${behaviour.html(id)}">${behaviour.html(name)}</a>`,
  }),
  mistake('id-pasted-into-a-call', ['list-id-path', 'list-id-query'], {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),
  mistake('id-pasted-into-a-page', 'list-id-markup', {
    itemOf: ({ behaviour }, { id, name }) => `<b title="${id}">${behaviour.html(name)}</b>`,
  }),
  mistake('long-id-is-a-crash', 'list-id-long', {
    itemOf(visit, application) {
      if (application.id.length > 1000) throw new RangeError('too long')
      return correct.itemOf(visit, application)
    },
  }),
  mistake('id-taken-for-a-text', 'list-id-type', {
    readList(answer) {
      for (const item of (answer as { ItemList: Record<string, string>[] }).ItemList) item['@id']!.toLowerCase()
      return correct.readList(answer)
    },
  }),
  mistake('id-pasted-into-a-link', 'list-id-link', {
    itemOf: ({ behaviour }, { id, name }) =>
      `<a href="/applications/${behaviour.html(id)}">${behaviour.html(name)}</a>`,
  }),
  mistake('percent-sign-of-an-id-in-a-link', 'list-id-link', {
    itemOf: ({ behaviour }, { id, name }) =>
      `<a href="/applications/${behaviour.html(id.replace(/[^\w%-]/g, encodeURIComponent))}">${behaviour.html(name)}</a>`,
  }),
  mistake(
    'id-pasted-into-a-form',
    'get-id-link',
    bodyWith(body =>
      body.replace(
        /(action="\/applications\/)([^"]*)(\/secret")/,
        (_, before, id, after) => before + correct.html(decodeURIComponent(id)) + after,
      ),
    ),
  ),
  mistake(
    'created-id-is-an-address',
    'create-id-elsewhere',
    leadsTo((id, { settings }) => new URL(id, `${settings.publicUrl}/applications/`).href),
  ),
  mistake(
    'created-id-is-a-header',
    'create-id-header',
    leadsTo(id => `/applications/${id}`),
  ),
  mistake('answers-unpacked-without-bound', ['list-gzip-bomb', 'exchange-gzip-bomb'], unpacked),
  mistake('groups-read-without-bound', 'every-call-large-refused', {
    send: (visit, request) => {
      const isGroups = request.url.includes('/links')
      return call({ ...visit.behaviour, ...(isGroups && { readBody: response => response.text() }) }, request)
    },
  }),
  mistake('application-unpacked-without-bound', 'every-call-gzip-bomb', {
    send: (visit, request) => {
      const isDetails = request.method === 'GET' && request.url.includes('/apps/v1/')
      const behaviour = { ...visit.behaviour, unpacks: true, readBody: (response: Response) => response.text() }
      return call(isDetails ? behaviour : visit.behaviour, request)
    },
  }),
  mistake('name-unpacked-without-bound', 'name-gzip-bomb', {
    unpacks: true,
    readBody: response => response.text(),
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = correct.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return answer
      const [, me] = await correct.send(visit, {
        method: 'GET',
        url: `${visit.settings.loginUrl}/api/me`,
        headers: { authorization: `Bearer ${session.accessToken}` },
        most: 65_536,
      })
      return { ...answer, body: `${answer.body ?? ''}<p>${(me as { firstName: string }).firstName}</p>` }
    },
  }),
  mistake('list-walked-level-by-level', 'list-deep', {
    readList(answer) {
      if (isRecord(answer)) depthOf(answer.ItemList)
      return correct.readList(answer)
    },
  }),
  mistake('api-error-is-markup', 'list-error-escaped', { ...rawErrors, html: text => text }),
  mistake('api-error-in-its-words', 'list-error-own-words', rawErrors),
  mistake('field-messages-are-markup', 'create-error-escaped', rawMessages),
  mistake(
    'headers-of-the-platform-passed-back',
    ['list-headers-not-passed-back', 'exchange-headers-not-passed-back', 'every-call-headers'],
    passesHeadersOnIf(() => true),
  ),
  mistake(
    'request-id-of-the-api-passed-back',
    ['list-headers-not-passed-back', 'every-call-headers'],
    answerWithHeader('x-request-id'),
  ),
  mistake('cookie-jar-for-all-visitors', 'api-cookie-not-kept', {
    send(visit, request) {
      const kept = visit.memory.get('jar')
      const headers = { ...request.headers, ...(typeof kept === 'string' && { cookie: kept }) }
      return callWithHeaders(visit, { ...request, headers }, answered => {
        const [line] = answered.getSetCookie()
        if (line) visit.memory.set('jar', line.split(';')[0])
      })
    },
  }),
  mistake('descriptions-kept-for-all', 'other-visitors-data', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      const data = isRecord(answer) && isRecord(answer.data) ? answer.data : {}
      const key = `description ${request.url}`
      if (isOfApplications(request) && status === 200) visit.memory.set(key, data.description)
      return [status, answer]
    },
    ...bodyWith((body, visit) => {
      const text = visit.memory.get(`description ${visit.settings.apiUrl}/apps/v1${visit.url.pathname.slice(13)}`)
      return text ? `${body}<p>${correct.html(`${text}`)}</p>` : body
    }),
  }),
  mistake('last-answer-in-a-global-variable', 'other-visitors-data-at-once', {
    async send(visit, request) {
      const answered = await correct.send(visit, request)
      if (!isOfApplications(request) || answered[0] !== 200) return answered
      visit.memory.set('last', answered)
      await pause(10)
      return visit.memory.get('last') as [number, unknown]
    },
  }),
  mistake('older-answer-while-the-api-is-down', 'other-visitors-data-while-down', {
    async send(visit, request) {
      if (!isOfApplications(request)) return correct.send(visit, request)
      const answered = await correct.send(visit, request).catch((): [number, unknown] => [502, undefined])
      if (answered[0] === 200) visit.memory.set(request.url, answered)
      return answered[0] < 500 ? answered : ((visit.memory.get(request.url) as [number, unknown]) ?? answered)
    },
  }),
  mistake('last-list-of-anybody-while-the-api-is-down', 'other-visitors-data-while-down', {
    async send(visit, request) {
      if (!isList(request)) return correct.send(visit, request)
      const answered = await correct.send(visit, request).catch((): [number, unknown] => [502, undefined])
      if (answered[0] === 200) visit.memory.set('last list', answered)
      return answered[0] < 500 ? answered : ((visit.memory.get('last list') as [number, unknown]) ?? answered)
    },
  }),
  mistake('groups-of-the-last-visitor-shown-after-a-failure', 'other-visitors-data-while-down', {
    async send(visit, request) {
      if (!isOfGroups(request)) return correct.send(visit, request)
      const answer = await correct.send(visit, request).catch(() => undefined)
      if (answer?.[0] === 200) visit.memory.set('groups', answer)
      return (visit.memory.get('groups') as typeof answer) ?? answer ?? [502, undefined]
    },
  }),
  mistake('secret-cookie-of-any-length', 'secret-of-long-credentials', {
    send: async (visit, request) => {
      const [status, answer] = await correct.send(visit, request)
      if (isCreation(request) && isRecord(answer)) visit.memory.set('tokens', JSON.stringify(answer.tokens))
      return [status, answer]
    },
    created: (visit, text, visitor) => {
      const answer = correct.created(visit, `${text} ${visit.memory.get('tokens')}`, visitor)
      // A browser drops a cookie that is too long.
      visit.setCookies = visit.setCookies.filter(({ length }) => length <= 4096)
      return answer
    },
  }),
  mistake('secret-as-html', 'secret-escaped', { created: (visit, text) => page(visit, 200, 'Created', `${text}`) }),
  mistake('refused-change-with-raw-messages', 'change-error-escaped', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (request.method === 'PUT' && status === 422) rawTexts.set(visit.cookies, JSON.stringify(answer))
      return [status, answer]
    },
    ...bodyWith((body, { cookies }) => `${body}${rawTexts.get(cookies) ?? ''}`),
  }),
  mistake(
    'headers-of-errors-passed-back',
    'error-headers-not-passed-back',
    passesHeadersOnIf(({ url }, status) => url.includes('/v1') && status >= 400),
  ),
  mistake('message-of-the-parser-shown', 'failures-in-own-words', {
    parse(text) {
      try {
        return JSON.parse(text)
      } catch (error) {
        throw new PlatformError(502, (error as Error).message)
      }
    },
    wordsFor: (error, visit) => (error instanceof PlatformError && error.code) || correct.wordsFor(error, visit),
  }),
  mistake('unexpected-type-shown', 'failures-in-own-words', {
    readList: answer =>
      (answer as { ItemList: Record<string, never>[] }).ItemList.flatMap(item =>
        correct.readList({ ItemList: [item] }),
      ),
    wordsFor: (error, visit) => (error instanceof TypeError ? error.message : correct.wordsFor(error, visit)),
  }),
]
