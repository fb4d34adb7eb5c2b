// Clients that handle failures of the call for the list of applications correctly, but not failures of other calls.
import { right } from '../parts.ts'
import { type Call, isRecord } from '../platform.ts'
import { PlatformFault, Refusal, type Visit } from '../visit.ts'
import { answerWith, type Fault, fault } from './fault.ts'

const isCreation = ({ method, url }: Call) => method === 'POST' && url.endsWith('/apps/v1')
const isSecret = ({ url }: Call) => url.endsWith('/refreshSecret')
const isChange = (call: Call) => call.url.includes('/apps/v1/') && call.method !== 'GET'
const isRead = ({ method, url }: Call) => method === 'GET' && url.includes('/apps/v1/')
const isOfGroups = ({ url }: Call) => url.includes('/identities/')
const isOther = (call: Call) => isChange(call) || isRead(call) || isCreation(call) || isOfGroups(call)

type Answered = [status: number, answer: unknown]

const isDone = ([status]: Answered) => status >= 200 && status < 300

/** Changes the answers to the calls that `isMet` selects. If such a call fails, `change` gets the status 0. */
function onAnswer(
  isMet: (call: Call) => boolean,
  change: (answered: Answered, visit: Visit) => Answered,
): Pick<typeof right, 'send'> {
  return {
    async send(visit, request) {
      if (!isMet(request)) return right.send(visit, request)
      return change(await right.send(visit, request).catch((): Answered => [0, undefined]), visit)
    },
  }
}

/** For the calls that `isMet` selects, uses different parts, for example a different deadline. */
const sendWith = (isMet: (call: Call) => boolean, parts: Partial<typeof right>): Pick<typeof right, 'send'> => ({
  send: (visit, request) =>
    right.send(isMet(request) ? { ...visit, parts: { ...visit.parts, ...parts } } : visit, request),
})

/** Repeats the calls that `isMet` selects while `isAgain` is true for the status, at most twice. */
const repeats = (isMet: (call: Call) => boolean, isAgain: (status: number) => boolean): Pick<typeof right, 'send'> => ({
  async send(visit, request) {
    const ask = () => right.send(visit, request).catch((): Answered => [502, undefined])
    let answered = await ask()
    for (let tries = 0; isMet(request) && isAgain(answered[0]) && tries < 2; tries++) answered = await ask()
    return answered
  },
})

const failed = new Set<Visit>()

/** If the call for the list of groups has failed, the client answers with the status instead of the form. */
const needsGroups = (status: number): Partial<typeof right> => ({
  ...onAnswer(isOfGroups, (answered, visit) => {
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

export const everyCall: Fault[] = [
  fault(
    'failed-change-is-told-as-done',
    asIds('change', 'reset 500 503 400 403 404 409 412 422-fields 429'),
    onAnswer(isChange, ([status, answer]) => (status >= 200 && status < 300 ? [status, answer] : [200, {}])),
  ),
  fault(
    'application-trusted',
    asIds('get', 'reset 503 html half empty not-an-object members-missing 403 404'),
    onAnswer(isRead, answered => {
      if (answered[0] !== 200) throw new Error(`unexpected status ${answered[0]}`)
      ;(answered[1] as { data: { name: string } }).data.name.trim()
      return answered
    }),
  ),
  fault(
    'deadline-only-for-the-list',
    ['get-never', 'change-never', 'create-never', 'groups-never'],
    sendWith(isOther, { deadlineMs: 86_400_000 }),
  ),
  fault(
    'redirects-of-other-calls-followed',
    'every-call-redirect',
    sendWith(call => isRead(call) || isChange(call) || isOfGroups(call), { redirects: 'follow' }),
  ),
  fault(
    'forbidden-is-taken-for-a-refused-token',
    ['list-403-no-login', 'create-403-no-login', 'change-403-no-login'],
    onAnswer(
      () => true,
      ([status, answer]) => {
        if (status === 0) throw new PlatformFault(502)
        return [status === 403 ? 401 : status, answer]
      },
    ),
  ),
  fault('refused-token-of-a-form-is-an-error', ['create-401', 'change-401'], {
    ...onAnswer(
      call => isChange(call) || isCreation(call),
      ([status, answer]) => {
        if (status === 401 || status === 0) throw new PlatformFault(502)
        return [status, answer]
      },
    ),
    ...answerWith(answer =>
      answer.status === 502 ? { status: 502, body: '<p>Something went wrong.</p><a href="/">Start</a>' } : answer,
    ),
  }),
  fault(
    'busy-change-asked-again',
    ['create-429-not-repeated', 'change-429-not-repeated'],
    repeats(
      call => isChange(call) || isCreation(call),
      status => status === 429,
    ),
  ),
  fault(
    'new-secret-asked-for-again',
    'secret-not-repeated',
    repeats(isSecret, status => status >= 500),
  ),
  fault(
    'new-secret-trusted',
    asIds('secret', 'html half empty not-an-object members-missing'),
    onAnswer(isSecret, answered => {
      if (isDone(answered)) (answered[1] as { clientSecret: string }).clientSecret.trim()
      return answered
    }),
  ),
  fault(
    'created-client-trusted',
    asIds('create', 'empty not-an-object members-missing'),
    onAnswer(isCreation, answered => {
      if (isDone(answered)) (answered[1] as { client: { clientSecrets: string[] } }).client.clientSecrets[0]!.trim()
      return answered
    }),
  ),
  fault('groups-trusted', 'groups-malformed', needsGroups(500)),
  fault('form-only-with-good-groups', 'groups-malformed-form', needsGroups(502)),
  fault('entries-of-the-list-trusted', 'list-odd-entries', {
    readList(answer) {
      for (const item of (answer as { ItemList: { data: { name: string } }[] }).ItemList) item.data.name.trim()
      return right.readList(answer)
    },
  }),
  fault(
    'unknown-members-of-other-answers-refused',
    'unknown-members-everywhere',
    onAnswer(isOther, ([status, answer]) => {
      if (status === 0 || (isRecord(answer) && 'nobodyKnows' in answer)) throw new PlatformFault(502)
      return [status, answer]
    }),
  ),
  fault(
    'api-words-of-other-calls-shown',
    'every-call-own-words',
    onAnswer(isOther, ([status, answer]) => {
      if (status === 0 || (status >= 400 && status !== 401)) throw new Refusal(502, JSON.stringify(answer) ?? '')
      return [status, answer]
    }),
  ),
  fault('address-of-the-api-shown', 'every-call-no-address', {
    wordsFor: (error, visit) =>
      error instanceof PlatformFault ? `${visit.settings.apiUrl}/apps/v1 failed.` : right.wordsFor(error, visit),
  }),
  fault(
    'removals-and-new-secrets-without-deadline',
    'change-never',
    sendWith(call => isChange(call) && call.method !== 'PUT', { deadlineMs: 86_400_000 }),
  ),
  fault('removal-with-a-refused-token-shows-an-error', 'change-401', {
    ...onAnswer(
      ({ method }) => method === 'DELETE',
      ([status, answer]) => [status === 401 ? 400 : status, answer],
    ),
    ...answerWith((answer, visit) =>
      answer.status === 502 && visit.url.pathname.endsWith('/remove')
        ? { status: 502, body: '<p>Something went wrong.</p><a href="/">Start</a>' }
        : answer,
    ),
  }),
  fault('form-lost-by-a-renewal', ['create-401', 'change-401'], {
    async send(visit, request) {
      if (!isChange(request) && !isCreation(request)) return right.send(visit, request)
      // After a 401 answer and the renewal, the client has lost the form. It redirects to the list and calls nothing.
      if (visit.body === lostForm) return [200, {}]
      const answered = await right.send(visit, request)
      if (answered[0] === 401) visit.body = lostForm
      return answered
    },
    created: (visit, text, visitor) =>
      visit.body === lostForm ? { status: 303 } : right.created(visit, text, visitor),
    ...answerWith((answer, visit) =>
      visit.body === lostForm ? { status: 303, headers: { location: '/applications' } } : answer,
    ),
  }),
  fault(
    'api-words-of-a-removal-shown',
    'every-call-own-words',
    onAnswer(
      ({ method }) => method === 'DELETE',
      ([status, answer]) => {
        if (status === 0 || (status >= 500 && status !== 401)) throw new Refusal(502, JSON.stringify(answer) ?? '')
        return [status, answer]
      },
    ),
  ),
  fault(
    'failed-read-is-an-empty-application',
    'get-failed-not-blank',
    onAnswer(isRead, ([status, answer]) => (status === 200 || status === 401 ? [status, answer] : [200, {}])),
  ),
  fault(
    'api-error-of-a-form-assumed-to-have-a-message',
    'forms-error-not-json',
    onAnswer(
      call => isCreation(call) || isChange(call),
      answered => {
        const [status, answer] = answered
        if (status >= 400 && status !== 401) (answer as { error: { message: object } }).error.message.toString()
        return answered
      },
    ),
  ),
]
