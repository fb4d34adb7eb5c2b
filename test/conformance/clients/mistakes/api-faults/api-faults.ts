// Clients that mishandle a wrong or missing answer from the API.
import { setTimeout as pause } from 'node:timers/promises'
import { type Behaviour, correct } from '../../behaviour.ts'
import { sendWith } from '../../call-changes.ts'
import { answerWith, notCaught } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { type Call, call, isRecord } from '../../platform.ts'
import { isCreation, isList } from '../../requests.ts'
import { PlatformError, type Visit } from '../../visit.ts'
import { errorAnswers } from './error-answers.ts'
import { everyCall } from './every-call.ts'
import { manyFailures } from './many-failures.ts'
import { refusedForms } from './refused-forms.ts'

type Item = { '@id': string; data: { name: string; webPageUrl: string } }

const items = (answer: unknown) => (answer as { ItemList: Item[] }).ItemList

const trusting: Behaviour['readList'] = answer =>
  items(answer).map(item => ({ id: item['@id'], name: item.data.name.trim(), webPageUrl: item.data.webPageUrl }))

type Refused = { error: { message: Record<string, string[]> } }

/**
 * API answers after which a faulty client ends the session. `checks`: the ids of the checks that find the mistake,
 * without the prefix `list-`.
 */
const signsOut: Record<string, { isMet: (status: number, answer: unknown) => boolean; checks: string[] }> = {
  'failed-call': { isMet: status => status === 0, checks: ['reset', 'cut', 'endless-header', 'gzip'] },
  'status-of-the-api': {
    isMet: status => status >= 400 && status !== 401,
    checks: ['400', '403', '404', '429', '500', '502', '503'],
  },
  'unreadable-list': {
    isMet: (status, answer) => status === 200 && !(isRecord(answer) && Array.isArray(answer.ItemList)),
    checks: ['half', 'empty', 'html', 'not-an-object', 'not-a-list'],
  },
}

/** If the call for the list fails, the client shows an empty list. */
const noListIsEmpty: Partial<Behaviour> = {
  async send(visit, request) {
    if (!request.url.endsWith('/apps/v1') || request.method !== 'GET') return correct.send(visit, request)
    const [status, answer] = await correct.send(visit, request).catch((): [number, unknown] => [502, undefined])
    const isList = status === 200 && Array.isArray((answer as { ItemList?: unknown } | undefined)?.ItemList)
    return isList || status === 401 ? [status, answer] : [200, { ItemList: [] }]
  },
}

/** Tells the visitor that the application was created, whatever the API has answered. */
const creationIsAlwaysMade: Partial<Behaviour> = {
  clientIdIn: ({ clientId }) => `${clientId}`,
  async send(visit, request) {
    if (!request.url.endsWith('/apps/v1') || request.method !== 'POST') return correct.send(visit, request)
    const answer = await correct.send(visit, request).catch(() => undefined)
    return [201, answer?.[0] === 201 ? answer[1] : { client: {} }]
  },
}

const brokenCreations = 'reset-not-repeated 503-not-repeated 400 429 403 404 409 422-sentence 422-fields 422-oauth'

const brokenLists = 'reset cut half empty html not-an-object endless-header gzip 400 403 404 429 500 502 503 not-a-list'

function withSecret({ settings }: Visit, request: Call, method: string): Call {
  const isForApi = request.url.startsWith(settings.apiUrl) && request.method === method && request.body !== undefined
  if (!isForApi) return request
  return { ...request, body: JSON.stringify({ ...JSON.parse(request.body!), client_secret: settings.clientSecret }) }
}

/** Changes the scheme in the Authorization header if the address of the call contains the path. */
function withScheme(request: Call, path: string): Call {
  if (!request.url.includes(path)) return request
  const { authorization = '', ...headers } = request.headers
  return { ...request, headers: { ...headers, authorization: authorization.replace('Bearer', 'Token') } }
}

/** If the platform redirects a call that `isMet` selects, the client treats the redirect as a success. */
const redirectsAreFine = (isMet: (call: Call) => boolean, answer: unknown): Partial<Behaviour> => ({
  async send(visit, request) {
    const answered = await correct.send(visit, request)
    return isMet(request) && answered[0] >= 300 && answered[0] < 400 ? [200, answer] : answered
  },
})

/** After the deadline, the client answers the visitor, but does not end the call. */
const deadlineWithoutEnd: Partial<Behaviour> = {
  send: (visit, request) =>
    Promise.race([
      call({ ...visit.behaviour, deadlineMs: 86_400_000 }, request),
      pause(visit.behaviour.deadlineMs).then(() => {
        throw new PlatformError(504)
      }),
    ]),
}

export const apiFaults: Mistake[] = [
  ...Object.entries(signsOut).map(([name, { isMet, checks }]) =>
    mistake(
      `${name}-signs-out`,
      checks.map(id => `list-${id}`),
      {
        async send(visit, request) {
          const [status, answer] = await correct.send(visit, request).catch(() => [0, undefined] as [number, unknown])
          if (request.url.includes('/apps/') && isMet(status, answer)) correct.dropSession(visit)
          if (status === 0) throw new PlatformError(502)
          return [status, answer]
        },
      },
    ),
  ),
  mistake(
    'failed-list-is-an-empty-one',
    brokenLists.split(' ').map(id => `list-${id}`),
    noListIsEmpty,
  ),
  mistake('failures-caught-by-the-framework', ['list-503', 'list-half', 'create-503-not-repeated'], notCaught),
  mistake('api-down-signs-out', 'list-503', {
    statusFor(error) {
      return correct.statusFor(error)
    },
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status >= 500 && request.url.includes('/apps/')) correct.dropSession(visit)
      return [status, answer]
    },
  }),
  mistake('api-waited-for-without-end', ['list-never', 'list-drip'], { deadlineMs: 86_400_000 }),
  mistake('call-goes-on-after-the-deadline', ['list-never', 'exchange-never', 'refresh-slow'], deadlineWithoutEnd),
  mistake('timeout-ends-the-session', 'list-never', {
    async aroundRequest(visit, next) {
      const answer = await next()
      if (answer.status === 504) correct.dropSession(visit)
      return answer
    },
  }),
  mistake('api-redirect-followed', ['list-redirect-302', 'list-redirect-307', 'create-redirect-307'], {
    redirects: 'follow',
  }),
  mistake('redirect-is-an-empty-list', 'redirect-reported', redirectsAreFine(isList, { ItemList: [] })),
  mistake('redirect-is-a-creation', 'redirect-reported', {
    ...redirectsAreFine(isCreation, undefined),
    clientIdIn: ({ clientId }) => `${clientId}`,
  }),
  mistake(
    'failed-creation-is-told-as-made',
    brokenCreations.split(' ').map(id => `create-${id}`),
    creationIsAlwaysMade,
  ),
  mistake(
    'create-tried-again',
    [
      'create-reset-after-not-repeated',
      'create-reset-not-repeated',
      'create-503-not-repeated',
      'create-503-after-not-repeated',
      'create-html-not-repeated',
      'create-half-not-repeated',
    ],
    {
      async send(visit, request) {
        try {
          const [status, answer] = await correct.send(visit, request)
          if (status < 500 && answer !== undefined) return [status, answer]
        } catch {}
        return correct.send(visit, request)
      },
    },
  ),
  mistake(
    'failed-creation-leads-to-the-list',
    'create-503-not-repeated',
    answerWith((answer, { method, url }) =>
      method === 'POST' && url.pathname === '/applications' && answer.status >= 500
        ? { status: 303, headers: { location: '/applications' } }
        : answer,
    ),
  ),
  mistake(
    'create-refused-is-a-crash',
    ['403', '404', '409', '422-sentence', '422-fields', '422-oauth'].map(id => `create-${id}`),
    {
      async send(visit, request) {
        const [status, answer] = await correct.send(visit, request)
        if (request.method === 'POST' && status >= 400) throw new Error(`unexpected status ${status}`)
        return [status, answer]
      },
    },
  ),
  mistake('failed-creation-ends-the-session', ['create-409', 'create-503-not-repeated'], {
    async send(visit, call) {
      const [status, answer] = await correct.send(visit, call)
      if (isCreation(call) && status >= 400 && status !== 422) correct.dropSession(visit)
      return [status, answer]
    },
  }),
  mistake('refusal-of-one-shape', ['create-422-sentence', 'create-422-oauth'], {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status === 422) for (const texts of Object.values((answer as Refused).error.message)) texts.join(', ')
      return [status, answer]
    },
  }),
  mistake('refused-token-is-an-error-of-the-page', 'list-401-once', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status === 401) throw new Error('Unauthorized')
      return [status, answer]
    },
  }),
  mistake(
    'refused-token-begins-a-login',
    'list-401-no-loop',
    answerWith(answer => (answer.status === 401 ? { status: 302, headers: { location: '/login' } } : answer)),
  ),
  mistake('api-busy-asked-again', 'list-429-not-repeated', {
    async send(visit, request) {
      let [status, answer] = await correct.send(visit, request)
      for (let tries = 0; status === 429 && tries < 10; tries++) [status, answer] = await correct.send(visit, request)
      return [status, answer]
    },
  }),
  mistake(
    'list-repeated-once-after-429',
    'list-429-not-repeated',
    sendWith(isList, async (_visit, _call, send) => {
      const answer = await send()
      return answer[0] === 429 ? send() : answer
    }),
  ),
  mistake('list-trusted', 'list-members-missing', { readList: trusting }),
  mistake('list-of-strangers-crashes', 'list-hostile-texts', {
    itemOf(visit, application) {
      if (!/^[\w -]*$/.test(application.name)) throw new RangeError('Invalid name')
      return correct.itemOf(visit, application)
    },
  }),
  mistake('unknown-members-of-an-application-refused', 'list-unknown-members', {
    readList(answer) {
      for (const { data } of items(answer)) if ('nobodyKnows' in data) throw new PlatformError(502)
      return correct.readList(answer)
    },
  }),
  mistake('unknown-members-of-an-application-leave-it-out', 'list-unknown-members', {
    readList: answer => correct.readList({ ItemList: items(answer).filter(({ data }) => !('nobodyKnows' in data)) }),
  }),
  mistake('unknown-members-refused', 'list-unknown-members', {
    readList(answer) {
      if (isRecord(answer) && 'nobodyKnows' in answer) throw new PlatformError(502)
      return correct.readList(answer)
    },
  }),
  mistake('long-list-is-a-crash', 'list-5000', {
    readList(answer) {
      const list = correct.readList(answer)
      if (list.length > 1000) throw new RangeError('too many')
      return list
    },
  }),
  mistake('api-read-without-bound', ['list-bounded', 'list-large-refused'], { readBody: response => response.text() }),
  mistake('api-down-is-a-crash', ['list-reset-status', 'list-html-status'], {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request).catch(() => [0, undefined] as const)
      if (answer === undefined) throw new TypeError('fetch failed')
      return [status, answer]
    },
  }),
  mistake('api-words-shown', 'list-503-status', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (status >= 400 && request.url.includes('/apps/')) throw new Error(`The API said: ${JSON.stringify(answer)}`)
      return [status, answer]
    },
    wordsFor: error => (error as Error).message,
  }),
  mistake('api-refusal-is-success', 'create-422-keeps-the-form', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      return [request.method === 'POST' && request.url.endsWith('/apps/v1') ? 201 : status, answer]
    },
  }),
  mistake('secret-to-the-api', ['api-no-client-secret', 'secret-at-the-portal-only'], {
    send: (visit, request) =>
      correct.send(visit, {
        ...request,
        headers: { ...request.headers, 'x-client-secret': visit.settings.clientSecret },
      }),
  }),
  mistake('secret-in-a-change', 'api-no-client-secret', {
    send: (visit, request) => correct.send(visit, withSecret(visit, request, 'PUT')),
  }),
  mistake('secret-in-a-query', 'api-no-client-secret', {
    send: (visit, request) =>
      correct.send(visit, {
        ...request,
        ...(request.method === 'GET' &&
          request.url.includes('/apps/v1/') && { url: `${request.url}?client_secret=${visit.settings.clientSecret}` }),
      }),
  }),
  mistake('secret-in-a-creation', 'create-no-client-secret', {
    send: (visit, request) => correct.send(visit, withSecret(visit, request, 'POST')),
  }),
  mistake('application-with-another-scheme', 'api-bearer-every-call', {
    send: (visit, request) => correct.send(visit, withScheme(request, '/apps/v1/')),
  }),
  mistake('groups-with-another-scheme', 'create-bearer-every-call', {
    send: (visit, request) => correct.send(visit, withScheme(request, '/identities/')),
  }),
  mistake('groups-without-a-token', 'create-bearer-every-call', {
    send: (visit, request) =>
      correct.send(visit, request.url.includes('/identities/') ? { ...request, headers: {} } : request),
  }),
  mistake('groups-with-another-token', 'create-bearer-every-call', {
    send: (visit, request) =>
      correct.send(
        visit,
        request.url.includes('/identities/') ? { ...request, headers: { authorization: 'Bearer another' } } : request,
      ),
  }),
  ...everyCall,
  ...errorAnswers,
  ...manyFailures,
  ...refusedForms,
]
