// Clients that handle failures of the call for the list correctly, but not failures of other calls.
import { type Behaviour, correct } from '../../behaviour.ts'
import { type Answered, onAnswer, repeatsAfterRetryAfter, sendWith } from '../../call-changes.ts'
import { answerWith, saysRemoved } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { type Call, isRecord } from '../../platform.ts'
import { isCreation, isList, isOfApi, isOfGroups, isRead } from '../../requests.ts'
import { PlatformError, Refusal, type Visit } from '../../visit.ts'

const forbidden = new WeakSet<Visit['cookies']>()

const isSecret = ({ url }: Call) => url.endsWith('/refreshSecret')

const isChange = (call: Call) => call.url.includes('/apps/v1/') && call.method !== 'GET'

const isOther = (call: Call) => isChange(call) || isRead(call) || isCreation(call) || isOfGroups(call)

const isDone = ([status]: Answered) => status >= 200 && status < 300

/** Changes the answers to the calls that `isMet` selects. If such a call fails, `change` gets the status 0. */
function onAnswerOrFailure(
  isMet: (call: Call) => boolean,
  change: (answered: Answered, visit: Visit) => Answered,
): Pick<Behaviour, 'send'> {
  return {
    async send(visit, request) {
      if (!isMet(request)) return correct.send(visit, request)
      return change(await correct.send(visit, request).catch((): Answered => [0, undefined]), visit)
    },
  }
}

/** For the calls that `isMet` selects, changes the behaviour, for example the deadline. */
const sendDifferently = (isMet: (call: Call) => boolean, behaviour: Partial<Behaviour>): Pick<Behaviour, 'send'> => ({
  send: (visit, request) =>
    correct.send(isMet(request) ? { ...visit, behaviour: { ...visit.behaviour, ...behaviour } } : visit, request),
})

/** Repeats the calls that `isMet` selects while `isAgain` is true for the status, at most twice. */
const repeats = (isMet: (call: Call) => boolean, isAgain: (status: number) => boolean): Pick<Behaviour, 'send'> => ({
  async send(visit, request) {
    const ask = () => correct.send(visit, request).catch((): Answered => [502, undefined])
    let answered = await ask()
    for (let tries = 0; isMet(request) && isAgain(answered[0]) && tries < 2; tries++) answered = await ask()
    return answered
  },
})

const failed = new Set<Visit>()

/** If the call for the list of groups has failed, the client answers with the status instead of the form. */
const needsGroups = (status: number): Partial<Behaviour> => ({
  ...onAnswerOrFailure(isOfGroups, (answered, visit) => {
    try {
      for (const { to, data } of (answered[1] as { ItemList: { to: string; data: { name: string } }[] }).ItemList)
        to.concat(data.name.trim())
      if (answered[0] !== 200) throw new Error('refused')
    } catch {
      failed.add(visit)
    }
    return answered
  }),
  ...answerWith((answer, visit) =>
    failed.delete(visit) ? { status, body: 'There are no groups. <a href="/">Start</a>' } : answer,
  ),
})

const lostForm = 'lost'

const asIds = (place: string, names: string) => names.split(' ').map(name => `${place}-${name}`)

export const everyCall: Mistake[] = [
  mistake(
    'failed-change-is-told-as-done',
    asIds('change', 'reset 500 503 400 403 404 409 412 422-fields 429'),
    onAnswerOrFailure(isChange, ([status, answer]) => (status >= 200 && status < 300 ? [status, answer] : [200, {}])),
  ),
  mistake(
    'application-trusted',
    asIds('get', 'reset 503 html half empty not-an-object members-missing 403 404'),
    onAnswerOrFailure(isRead, answered => {
      if (answered[0] !== 200) throw new Error(`unexpected status ${answered[0]}`)
      ;(answered[1] as { data: { name: string } }).data.name.trim()
      return answered
    }),
  ),
  mistake(
    'failed-read-is-an-empty-application',
    'get-failed-not-blank',
    onAnswerOrFailure(isRead, ([status, answer]) => (status === 200 || status === 401 ? [status, answer] : [200, {}])),
  ),
  mistake(
    'deadline-only-for-the-list',
    ['get-never', 'change-never', 'create-never', 'groups-never'],
    sendDifferently(isOther, { deadlineMs: 86_400_000 }),
  ),
  mistake(
    'removals-and-new-secrets-without-deadline',
    'change-never',
    sendDifferently(call => isChange(call) && call.method !== 'PUT', { deadlineMs: 86_400_000 }),
  ),
  mistake(
    'redirects-of-other-calls-followed',
    'every-call-redirect',
    sendDifferently(call => isRead(call) || isChange(call) || isOfGroups(call), { redirects: 'follow' }),
  ),
  mistake(
    'redirect-for-a-new-secret-followed',
    'every-call-redirect',
    sendWith(
      ({ url }) => url.endsWith('/refreshSecret'),
      (visit, call) => correct.send({ ...visit, behaviour: { ...visit.behaviour, redirects: 'follow' } }, call),
    ),
  ),
  mistake(
    'forbidden-is-taken-for-a-refused-token',
    ['list-403-no-login', 'create-403-no-login', 'change-403-no-login'],
    onAnswerOrFailure(
      () => true,
      ([status, answer]) => {
        if (status === 0) throw new PlatformError(502)
        return [status === 403 ? 401 : status, answer]
      },
    ),
  ),
  mistake('forbidden-groups-begin-a-login', 'groups-403-no-login', {
    ...onAnswer(isOfGroups, ([status, answer], visit) => {
      if (status === 403) forbidden.add(visit.cookies)
      return [status, answer]
    }),
    ...answerWith((answer, { cookies }) =>
      forbidden.has(cookies) ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  mistake('forbidden-groups-lead-to-the-portal', 'groups-403-no-login', {
    ...onAnswer(isOfGroups, ([status, answer], visit) => {
      if (status === 403) forbidden.add(visit.cookies)
      return [status, answer]
    }),
    ...answerWith((answer, { cookies, settings }) =>
      forbidden.has(cookies) ? { status: 302, headers: { location: `${settings.loginUrl}/sign-in` } } : answer,
    ),
  }),
  mistake('refused-token-of-a-form-is-an-error', ['create-401', 'change-401'], {
    ...onAnswerOrFailure(
      call => isChange(call) || isCreation(call),
      ([status, answer]) => {
        if (status === 401 || status === 0) throw new PlatformError(502)
        return [status, answer]
      },
    ),
    ...answerWith(answer =>
      answer.status === 502 ? { status: 502, body: '<p>Something went wrong.</p><a href="/">Start</a>' } : answer,
    ),
  }),
  mistake('refused-removal-shown-as-done', ['change-403', 'change-409'], {
    ...onAnswer(
      ({ method }) => method === 'DELETE',
      ([status, answer]) => (status === 403 || status === 409 ? [200, answer] : [status, answer]),
    ),
    ...saysRemoved,
  }),
  mistake('form-lost-by-a-renewal', ['create-401', 'change-401'], {
    async send(visit, request) {
      if (!isChange(request) && !isCreation(request)) return correct.send(visit, request)
      // After a 401 answer and the renewal, the client has lost the form. It redirects to the list and calls nothing.
      if (visit.body === lostForm) return [200, {}]
      const answered = await correct.send(visit, request)
      if (answered[0] === 401) visit.body = lostForm
      return answered
    },
    created: (visit, text, visitor) =>
      visit.body === lostForm ? { status: 303 } : correct.created(visit, text, visitor),
    ...answerWith((answer, visit) =>
      visit.body === lostForm ? { status: 303, headers: { location: '/applications' } } : answer,
    ),
  }),
  mistake('removal-with-a-refused-token-shows-an-error', 'change-401', {
    ...onAnswerOrFailure(
      ({ method }) => method === 'DELETE',
      ([status, answer]) => [status === 401 ? 400 : status, answer],
    ),
    ...answerWith((answer, visit) =>
      answer.status === 502 && visit.url.pathname.endsWith('/remove')
        ? { status: 502, body: '<p>Something went wrong.</p><a href="/">Start</a>' }
        : answer,
    ),
  }),
  mistake(
    'busy-change-asked-again',
    ['create-429-not-repeated', 'change-429-not-repeated'],
    repeats(
      call => isChange(call) || isCreation(call),
      status => status === 429,
    ),
  ),
  mistake(
    'new-secret-repeated-after-a-short-retry-after',
    'secret-not-repeated',
    repeatsAfterRetryAfter(({ url }) => url.endsWith('/refreshSecret')),
  ),
  mistake(
    'new-secret-asked-for-again',
    'secret-not-repeated',
    repeats(isSecret, status => status >= 500),
  ),
  mistake(
    'new-secret-trusted',
    asIds('secret', 'html half empty not-an-object members-missing'),
    onAnswerOrFailure(isSecret, answered => {
      if (isDone(answered)) (answered[1] as { clientSecret: string }).clientSecret.trim()
      return answered
    }),
  ),
  mistake('missing-secret-shown-as-undefined', ['secret-empty', 'secret-html', 'secret-members-missing'], {
    secretIn: made => `${(made as { clientSecret?: unknown } | undefined)?.clientSecret}`,
  }),
  mistake(
    'created-client-trusted',
    asIds('create', 'empty not-an-object members-missing'),
    onAnswerOrFailure(isCreation, answered => {
      if (isDone(answered)) (answered[1] as { client: { clientSecrets: string[] } }).client.clientSecrets[0]!.trim()
      return answered
    }),
  ),
  mistake('missing-client-id-shown-as-undefined', ['create-empty', 'create-not-an-object', 'create-members-missing'], {
    clientIdIn: ({ clientId }) => `${clientId}`,
  }),
  mistake('groups-trusted', 'groups-malformed', needsGroups(500)),
  mistake('form-only-with-good-groups', 'groups-malformed-form', needsGroups(502)),
  mistake(
    'api-error-of-a-form-assumed-to-have-a-message',
    'forms-error-not-json',
    onAnswerOrFailure(
      call => isCreation(call) || isChange(call),
      answered => {
        const [status, answer] = answered
        if (status >= 400 && status !== 401) (answer as { error: { message: object } }).error.message.toString()
        return answered
      },
    ),
  ),
  mistake(
    'client-of-an-application-trusted',
    'get-one-member-missing',
    onAnswerOrFailure(isRead, ([status, answer]) => {
      if (isRecord(answer) && isRecord(answer.data) && answer.client === undefined)
        throw new TypeError('The application has no client.')
      return [status, answer]
    }),
  ),
  mistake(
    'metadata-in-the-list-trusted',
    'list-one-member-missing',
    onAnswerOrFailure(isList, ([status, answer]) => {
      for (const item of isRecord(answer) && Array.isArray(answer.ItemList) ? answer.ItemList : [])
        if (isRecord(item) && isRecord(item.data) && item.metadata === undefined)
          throw new TypeError('The application has no metadata.')
      return [status, answer]
    }),
  ),
  mistake(
    'tokens-of-a-creation-trusted',
    'create-one-member-missing',
    onAnswerOrFailure(isCreation, ([status, answer]) => {
      if (isRecord(answer) && isRecord(answer.client) && answer.tokens === undefined)
        throw new TypeError('The creation has no tokens.')
      return [status, answer]
    }),
  ),
  mistake('entries-of-the-list-trusted', 'list-odd-entries', {
    readList(answer) {
      for (const item of (answer as { ItemList: { data: { name: string } }[] }).ItemList) item.data.name.trim()
      return correct.readList(answer)
    },
  }),
  mistake(
    'unknown-members-of-other-answers-refused',
    'unknown-members-everywhere',
    onAnswerOrFailure(isOther, ([status, answer]) => {
      if (status === 0 || (isRecord(answer) && 'nobodyKnows' in answer)) throw new PlatformError(502)
      return [status, answer]
    }),
  ),
  mistake(
    'api-words-of-other-calls-shown',
    'every-call-own-words',
    onAnswerOrFailure(isOther, ([status, answer]) => {
      if (status === 0 || (status >= 400 && status !== 401)) throw new Refusal(502, JSON.stringify(answer) ?? '')
      return [status, answer]
    }),
  ),
  mistake(
    'api-words-of-a-removal-shown',
    'every-call-own-words',
    onAnswerOrFailure(
      ({ method }) => method === 'DELETE',
      ([status, answer]) => {
        if (status === 0 || (status >= 500 && status !== 401)) throw new Refusal(502, JSON.stringify(answer) ?? '')
        return [status, answer]
      },
    ),
  ),
  mistake('address-of-the-api-shown', 'every-call-no-address', {
    wordsFor: (error, visit) =>
      error instanceof PlatformError ? `${visit.settings.apiUrl}/apps/v1 failed.` : correct.wordsFor(error, visit),
  }),
  mistake('redirect-to-the-location-of-the-api', 'every-call-headers', {
    async send(visit, call) {
      const readBody: typeof correct.readBody = (response, most) => {
        visit.memory.set(`location ${visit.body}`, response.headers.get('location') ?? undefined)
        return correct.readBody(response, most)
      }
      return correct.send({ ...visit, behaviour: { ...visit.behaviour, readBody } }, call)
    },
    created(visit, text, visitor) {
      const answer = correct.created(visit, text, visitor)
      const location = visit.memory.get(`location ${visit.body}`)
      return typeof location === 'string' ? { ...answer, headers: { location } } : answer
    },
  }),
  mistake('fields-lost-when-a-call-is-repeated-after-a-renewal', ['create-401', 'change-401'], {
    async send(visit, call) {
      if (!isOfApi(call) || call.body === undefined) return correct.send(visit, call)
      const name = `refused ${call.method} ${call.url} ${call.body}`
      if (visit.memory.has(name)) return correct.send(visit, { ...call, body: '{}' })
      const answered = await correct.send(visit, call)
      if (answered[0] === 401) visit.memory.set(name, true)
      return answered
    },
  }),
]
