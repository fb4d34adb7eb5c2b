// Clients that handle one form correctly, but not a second form, another group or a form that was opened again.
import { type Behaviour, correct } from '../../behaviour.ts'
import { answerWith, bodyWith, notInList } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'
import { isRecord } from '../../platform.ts'
import { isCreation, isCreationForm } from '../../requests.ts'
import { Refusal, type Visit } from '../../visit.ts'

const isChangeForm = ({ method, url }: Visit) => method === 'POST' && url.pathname.endsWith('/edit')

const sessionText = ({ cookies }: Visit) => cookies.find(([name]) => name === correct.sessionCookie)?.[1] ?? ''

/** Remembers the result of each form under the key that `keyOf` returns. */
const rememberingForms = (keyOf: (visit: Visit, name: string) => string): Pick<Behaviour, 'shareCall'> => ({
  async shareCall<T>(visit: Visit, name: string, act: () => Promise<T>): Promise<T> {
    return correct.shareCall(visit, name.startsWith('create ') ? keyOf(visit, name) : name, act)
  },
})

/** Changes the fields of the form for a new application. */
const fieldsWith = (change: (values: URLSearchParams) => void): Pick<Behaviour, 'formOf'> => ({
  formOf(visit, body) {
    if (!isCreationForm(visit)) return body
    const values = new URLSearchParams(body)
    change(values)
    return `${values}`
  },
})

export const formHandling: Mistake[] = [
  mistake('only-the-latest-form-is-remembered', 'create-once-between-others', {
    ...notInList,
    async shareCall<T>(visit: Visit, name: string, act: () => Promise<T>): Promise<T> {
      if (!name.startsWith('create ')) return correct.shareCall(visit, name, act)
      const memory = visit.memory
      const latest = memory.get('latest form') as { name: string; result: Promise<T> } | undefined
      if (latest?.name === name) return latest.result
      const result = act()
      memory.set('latest form', { name, result })
      return result
    },
  }),
  mistake('forms-remembered-in-the-session', 'create-once-after-login', {
    ...notInList,
    ...rememberingForms((visit, name) => `${name} ${sessionText(visit)}`),
  }),
  mistake(
    'refused-form-with-its-used-id',
    'create-after-refusal',
    bodyWith((body, visit) => {
      const used = new URLSearchParams(visit.body).get('form') ?? ''
      return isCreationForm(visit)
        ? body.replace(/(name="form" value=")[^"]*/, (_, before) => before + correct.html(used))
        : body
    }),
  ),
  mistake('first-group-of-the-visitor', 'create-chosen-group', {
    async send(visit, call) {
      const token = call.headers.authorization ?? ''
      if (isCreation(call)) {
        const { data, ...envelope } = JSON.parse(call.body!)
        const groupId = visit.memory.get(`group ${token}`) ?? data.groupId
        return correct.send(visit, { ...call, body: JSON.stringify({ ...envelope, data: { ...data, groupId } }) })
      }
      const [status, answer] = await correct.send(visit, call)
      const first = isRecord(answer) && Array.isArray(answer.ItemList) ? answer.ItemList[0] : undefined
      if (call.url.includes('/identities/') && isRecord(first)) visit.memory.set(`group ${token}`, first.to)
      return [status, answer]
    },
  }),
  mistake(
    'only-the-first-address-is-sent',
    'create-several-addresses',
    fieldsWith(values => values.set('redirectUris', (values.get('redirectUris') ?? '').split(/[\s,]+/)[0]!)),
  ),
  mistake('redirect-uris-limited-in-total-length', 'create-several-addresses', {
    ...fieldsWith(values => {
      if ((values.get('redirectUris') ?? '').length > 2048) throw new Refusal(422, 'The addresses are too long.')
    }),
  }),
  mistake(
    'addresses-without-https-refused',
    'create-addresses-accepted',
    fieldsWith(values => {
      if (!values.get('redirectUris')?.startsWith('https://')) throw new Refusal(422, 'Use https.')
    }),
  ),
  mistake(
    'addresses-with-a-port-refused',
    'create-addresses-accepted',
    fieldsWith(values => {
      if (/^https:\/\/[^/]+:\d/.test(values.get('redirectUris') ?? '')) throw new Refusal(422, 'No port, please.')
    }),
  ),
  mistake(
    'addresses-written-by-a-url-parser',
    'create-addresses-accepted',
    fieldsWith(values => {
      const address = values.get('redirectUris') ?? ''
      if (URL.canParse(address)) values.set('redirectUris', new URL(address).href)
    }),
  ),
  mistake(
    'names-of-at-least-three-characters',
    'create-addresses-accepted',
    fieldsWith(values => {
      if ((values.get('name') ?? '').length < 3) throw new Refusal(422, 'The name is too short.')
    }),
  ),
  mistake('only-usual-loopback-redirect-uris-accepted', 'create-addresses-accepted', {
    ...fieldsWith(values => {
      if (!/^(https:|http:\/\/(localhost|127\.0\.0\.1)[:/])/.test(values.get('redirectUris') ?? ''))
        throw new Refusal(422, 'That is not an address.')
    }),
  }),
  mistake('change-with-a-port-in-a-redirect-uri-refused', 'edit-addresses-accepted', {
    formOf(visit, body) {
      if (isChangeForm(visit) && /:\d/.test(new URLSearchParams(body).get('redirectUris') ?? ''))
        throw new Refusal(422, 'That is not an address.')
      return body
    },
  }),
  mistake(
    'name-field-of-a-hundred-characters',
    'form-limits-in-html',
    bodyWith(body => body.replace('name="name"', 'name="name" maxlength="100"')),
  ),
  mistake('secret-also-beside-the-next-form', 'create-secret-on-one-page', {
    created(visit, text, visitor) {
      visit.memory.set(`secret of ${visitor}`, text)
      return correct.created(visit, text, visitor)
    },
    ...bodyWith((body, visit) => {
      const text = visit.memory.get(`secret of ${correct.readSession(visit)?.visitor}`)
      return text && visit.url.pathname === '/applications/new' ? `${body}<p>${correct.html(`${text}`)}</p>` : body
    }),
  }),
  mistake('shown-values-in-the-memory', 'edit-overtaken-reopened', {
    seal(visit, name, value) {
      if (name === 'form' && isRecord(value)) visit.memory.set(`shown ${value.use}`, value.shown)
      return correct.seal(visit, name, value)
    },
    unseal(visit, name, text) {
      const form = correct.unseal(visit, name, text)
      return name === 'form' && isRecord(form) ? { ...form, shown: visit.memory.get(`shown ${form.use}`) } : form
    },
  }),
  mistake('refused-change-forgets-the-shown-values', 'edit-overtaken-after-refusal', {
    seal(visit, name, value) {
      const isAgain = name === 'form' && isRecord(value) && isChangeForm(visit)
      return correct.seal(visit, name, isAgain ? { ...value, shown: '' } : value)
    },
    isUnchanged: (shown, stored) => shown === '' || correct.isUnchanged(shown, stored),
  }),
  mistake(
    'refused-change-hides-a-change-by-somebody-else',
    'edit-overtaken-after-refusal',
    answerWith((answer, visit) => {
      const isWrong = new URLSearchParams(visit.body).get('redirectUris')?.startsWith('ftp:')
      if (!isChangeForm(visit) || !isWrong || !answer.body) return answer
      // If somebody else has changed the application, the client says so only if all addresses are right.
      const body = answer.body
        .replace(/(?<=<p role="alert">)[^<]*/, 'Please look at the addresses again.')
        .replace(/<ul>.*?<\/ul>/s, '')
      return { ...answer, status: 422, body }
    }),
  ),
  mistake(
    'refused-change-loses-the-text',
    'edit-refused-kept',
    answerWith((answer, visit) =>
      visit.url.pathname.endsWith('/edit') && answer.status === 422
        ? page(visit, 422, 'Refused', '<a href="/applications">Applications</a>')
        : answer,
    ),
  ),
  mistake(
    'refused-change-loses-the-description',
    ['edit-refused-kept', 'edit-overtaken-kept'],
    answerWith((answer, visit) =>
      isChangeForm(visit) && answer.body
        ? { ...answer, body: answer.body.replace(/(<textarea[^>]*>)[^<]*/, '$1') }
        : answer,
    ),
  ),
  mistake('list-read-again-after-a-form', 'calls-of-a-form', {
    async send(visit, call) {
      const answered = await correct.send(visit, call)
      if (!isCreation(call)) return answered
      const { body: _, ...again } = { ...call, method: 'GET' }
      for (let count = 0; count < 2; count++) await correct.send(visit, again)
      return answered
    },
  }),
  mistake('list-read-again-after-a-refused-form', 'calls-of-a-form', {
    async send(visit, call) {
      const answered = await correct.send(visit, call)
      if (!isCreation(call) || answered[0] < 400) return answered
      const { body: _, ...again } = { ...call, method: 'GET' }
      for (let count = 0; count < 3; count++) await correct.send(visit, again)
      return answered
    },
  }),
  mistake('list-read-again-and-again-for-a-form', 'calls-of-a-form', {
    async send(visit, request) {
      const { body: _, ...rest } = request
      const isCreation = request.method === 'POST' && request.url.endsWith('/apps/v1')
      for (let count = 0; isCreation && count < 4; count++) await correct.send(visit, { ...rest, method: 'GET' })
      return correct.send(visit, request)
    },
  }),
]
