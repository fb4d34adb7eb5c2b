// Clients that handle the form for a new application correctly, but not all other forms, or not all values.
import { randomUUID } from 'node:crypto'
import { page } from '../pages.ts'
import { right } from '../parts.ts'
import { isRecord } from '../platform.ts'
import { Refusal, type Visit } from '../visit.ts'
import { answerWith, type Fault, fault, headersWith } from './fault.ts'

const anyForm = { isFormOf: () => true }
const isForm = ({ method, url }: Visit, action = '') =>
  method === 'POST' && new RegExp(`^/applications/[^/]+/${action}`).test(url.pathname)
const namesOwnAddress = (text: string | undefined, { settings }: Visit) => text?.includes(settings.publicUrl) === true

export const everyForm: Fault[] = [
  fault('change-without-session-says-nothing', 'forms-no-session', {
    async around(visit, next) {
      return isForm(visit) && !right.readSession(visit) ? { status: 400, body: '<p>That did not work.</p>' } : next()
    },
  }),
  fault('new-secret-without-a-redirect', 'forms-reload', {
    created: (visit, text, visitor) =>
      isForm(visit, 'secret') ? page(visit, 200, 'A new secret', '') : right.created(visit, text, visitor),
    once: (visit, name, act) => (name.startsWith('secret ') ? act() : right.once(visit, name, act)),
  }),
  fault('change-from-nowhere', 'forms-forged', {
    ...anyForm,
    isUseOf: () => true,
    isFromHere: visit =>
      right.isFromHere(visit) ||
      (isForm(visit, 'edit') && visit.headers.origin === undefined && visit.headers['sec-fetch-site'] === undefined),
  }),
  fault('removal-from-an-origin-that-begins-alike', 'forms-forged', {
    ...anyForm,
    isUseOf: () => true,
    isFromHere: visit =>
      right.isFromHere(visit) || (isForm(visit, 'remove') && namesOwnAddress(visit.headers.origin, visit)),
  }),
  fault('form-asks-for-every-group', 'calls-of-a-page', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (!request.url.includes('/links') || !isRecord(answer) || !Array.isArray(answer.ItemList))
        return [status, answer]
      for (const { to } of answer.ItemList)
        await right.send(visit, { ...request, url: `${visit.settings.apiUrl}/identities/v1/${to}` })
      return [status, answer]
    },
  }),
  fault('form-without-a-group-if-nobody-answers', 'create-without-groups', {
    async send(visit, request) {
      return right.send(visit, request).catch(error => {
        if (request.url.includes('/links')) visit.body = 'no groups'
        throw error
      })
    },
    ...answerWith((answer, visit) => (visit.body === 'no groups' ? page(visit, 502, 'No groups', '') : answer)),
  }),
  fault('late-change-leads-to-the-list', 'forms-no-session-says-so', {
    async around(visit, next) {
      return isForm(visit, 'edit') && !right.readSession(visit)
        ? { status: 303, headers: { location: '/applications' } }
        : next()
    },
  }),
  fault('new-secret-on-the-page-of-its-form', 'forms-redirect', {
    created: (visit, text, visitor) =>
      isForm(visit, 'secret') ? page(visit, 200, 'A new secret', '') : right.created(visit, text, visitor),
  }),
  fault('created-on-the-page-of-its-form', 'forms-redirect', { created: visit => page(visit, 200, 'Created', '') }),
  fault('sign-out-only-with-sec-fetch', 'logout-old-browser', {
    isFromHere: visit =>
      right.isFromHere(visit) && !(visit.url.pathname === '/logout' && visit.headers['sec-fetch-site'] === undefined),
  }),
  fault('name-counted-in-utf-16', ['create-limits', 'edit-limits'], {
    formOf(_visit, body) {
      if ((new URLSearchParams(body).get('name') ?? '').length > 200) throw new Refusal(422, 'The name is too long.')
      return body
    },
  }),
  fault('long-texts-are-cut', ['create-too-long', 'edit-limits'], {
    formOf(_visit, body) {
      const values = new URLSearchParams(body)
      if (values.has('description')) values.set('description', [...values.get('description')!].slice(0, 2000).join(''))
      return `${values}`
    },
  }),
  fault('new-secret-only-with-sec-fetch', 'forms-old-browser', {
    isFromHere: visit =>
      right.isFromHere(visit) && !(isForm(visit, 'secret') && visit.headers['sec-fetch-site'] === undefined),
  }),
  fault('change-of-another-visitor-taken', 'forms-other-visitor', {
    isFormOf: (form, visitor) => form.use !== 'create' || right.isFormOf(form, visitor),
  }),
  fault('only-the-name-is-compared', 'edit-overtaken-other-fields', {
    isUnchanged: (shown, stored) => new URLSearchParams(shown).get('name') === new URLSearchParams(stored).get('name'),
  }),
  fault('method-from-a-parameter', 'forms-other-methods', {
    ...anyForm,
    isUseOf: () => true,
    unseal: (visit, name, text) =>
      name === 'form' ? { id: randomUUID(), visitor: '', use: '', shown: '' } : right.unseal(visit, name, text),
    async around(visit, next) {
      if (visit.query.get('_method') === 'post') visit.method = 'POST'
      return next()
    },
    isFromHere: visit => visit.query.has('_method') || right.isFromHere(visit),
  }),
  fault('new-secret-in-an-address', 'forms-secret-not-in-address', {
    created: (visit, text, visitor) =>
      isForm(visit, 'secret')
        ? { status: 303, headers: { location: `/applications?made=${encodeURIComponent(`${text}`)}` } }
        : right.created(visit, text, visitor),
  }),
  fault('typed-text-escaped-before-it-is-stored', 'create-values-unchanged', {
    send(visit, request) {
      if (request.method !== 'POST' || !request.url.endsWith('/apps/v1')) return right.send(visit, request)
      const { data, ...envelope } = JSON.parse(request.body!)
      const body = JSON.stringify({ ...envelope, data: { ...data, description: right.html(data.description) } })
      return right.send(visit, { ...request, body })
    },
  }),
  fault('web-page-address-only-with-https', 'create-limits', {
    formOf(_visit, body) {
      if (new URLSearchParams(body).get('webPageUrl')?.startsWith('http:')) throw new Refusal(422, 'Please use https.')
      return body
    },
  }),
  fault('names-of-a-hundred-characters', 'create-limits', {
    formOf(_visit, body) {
      const values = new URLSearchParams(body)
      if (values.has('name')) values.set('name', values.get('name')!.slice(0, 100))
      return `${values}`
    },
  }),
  fault('referer-contains-the-own-address', 'create-forged-referer', {
    ...anyForm,
    isFromHere: visit => {
      const { origin, 'sec-fetch-site': site, referer } = visit.headers
      return origin === undefined && site === undefined ? namesOwnAddress(referer, visit) : right.isFromHere(visit)
    },
  }),
  fault('post-origin-is-the-forwarded-host', 'create-forged-forwarded-host', {
    ...anyForm,
    isFromHere: visit =>
      right.isFromHere(visit) || visit.headers.origin === `http://${visit.headers['x-forwarded-host']}`,
  }),
  fault('link-from-elsewhere-opens-only-the-list', 'pages-from-another-site', {
    comesFromElsewhere: visit => right.comesFromElsewhere(visit) && visit.url.pathname === '/applications',
  }),
  fault('change-form-of-another-visitor-accepted', 'forms-other-visitor', {
    isFormOf: (form, visitor) => `${form.use}`.startsWith('edit ') || right.isFormOf(form, visitor),
  }),
  fault(
    'answers-to-changes-kept-by-browsers',
    'forms-no-store',
    headersWith(visit => (isForm(visit) ? { 'cache-control': 'private' } : {})),
  ),
]
