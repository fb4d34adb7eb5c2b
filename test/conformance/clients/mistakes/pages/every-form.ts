// Clients that handle the form for a new application correctly, but not all other forms, or not all values.
import { randomUUID } from 'node:crypto'
import { correct } from '../../behaviour.ts'
import { anyForm, headersWith, namesOwnAddress } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'
import { callApi, isRecord } from '../../platform.ts'
import { isForm } from '../../requests.ts'
import { Refusal } from '../../visit.ts'

/** Replaces the values that the form showed, so that the client does not compare them. */
const notCompared = 'not compared'

export const everyForm: Mistake[] = [
  mistake('change-without-session-says-nothing', 'forms-no-session', {
    async aroundRequest(visit, next) {
      return isForm(visit) && !correct.readSession(visit) ? { status: 400, body: '<p>That did not work.</p>' } : next()
    },
  }),
  mistake('late-change-leads-to-the-list', 'forms-no-session-says-so', {
    async aroundRequest(visit, next) {
      return isForm(visit, 'edit') && !correct.readSession(visit)
        ? { status: 303, headers: { location: '/applications' } }
        : next()
    },
  }),
  mistake('new-secret-without-a-redirect', 'forms-reload', {
    created: (visit, text, visitor) =>
      isForm(visit, 'secret') ? page(visit, 200, 'A new secret', '') : correct.created(visit, text, visitor),
    shareCall: (visit, name, act) => (name.startsWith('secret ') ? act() : correct.shareCall(visit, name, act)),
  }),
  mistake('new-secret-requested-with-a-form', 'forms-work', {
    send(visit, request) {
      const headers = { ...request.headers, 'content-type': 'application/x-www-form-urlencoded' }
      return correct.send(visit, request.url.endsWith('/refreshSecret') ? { ...request, headers } : request)
    },
  }),
  mistake('removal-is-a-crash', 'forms-work', {
    async aroundRequest(visit, next) {
      if (isForm(visit, 'remove')) return page(visit, 500, 'An unexpected error', '')
      return next()
    },
  }),
  mistake('new-secret-on-the-page-of-its-form', 'forms-redirect', {
    created: (visit, text, visitor) =>
      isForm(visit, 'secret') ? page(visit, 200, 'A new secret', '') : correct.created(visit, text, visitor),
  }),
  mistake('created-on-the-page-of-its-form', 'forms-redirect', { created: visit => page(visit, 200, 'Created', '') }),
  mistake('new-secret-only-with-sec-fetch', 'forms-old-browser', {
    isFromHere: visit =>
      correct.isFromHere(visit) && !(isForm(visit, 'secret') && visit.headers['sec-fetch-site'] === undefined),
  }),
  mistake('sign-out-only-with-sec-fetch', 'logout-old-browser', {
    isFromHere: visit =>
      correct.isFromHere(visit) && !(visit.url.pathname === '/logout' && visit.headers['sec-fetch-site'] === undefined),
  }),
  mistake('change-of-another-visitor-taken', 'forms-other-visitor', {
    isFormOf: (form, visitor) => form.use !== 'create' || correct.isFormOf(form, visitor),
  }),
  mistake('change-form-of-another-visitor-accepted', 'forms-other-visitor', {
    isFormOf: (form, visitor) => `${form.use}`.startsWith('edit ') || correct.isFormOf(form, visitor),
  }),
  mistake('only-the-name-is-compared', 'edit-overtaken-other-fields', {
    isUnchanged: (shown, stored) => new URLSearchParams(shown).get('name') === new URLSearchParams(stored).get('name'),
  }),
  mistake('new-redirect-uris-not-compared', 'edit-overtaken-redirect-uris', {
    unseal(visit, name, text) {
      const form = correct.unseal(visit, name, text)
      if (name !== 'form' || !isRecord(form)) return form
      const redirectUrisIn = (values: string) => new URLSearchParams(values).get('redirectUris')
      const isChanged = redirectUrisIn(visit.body) !== redirectUrisIn(`${form.shown}`)
      return isChanged ? { ...form, shown: notCompared } : form
    },
    isUnchanged: (shown, stored) => shown === notCompared || correct.isUnchanged(shown, stored),
  }),
  // The page of an application has a second form, which changes only the redirect URIs.
  mistake('form-for-redirect-uris-compares-nothing', 'edit-overtaken-redirect-uris', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = correct.readSession(visit)
      const [, id, action] = /^\/applications\/([\w-]{36})(\/edit)?$/.exec(visit.url.pathname) ?? []
      if (!session || !id) return answer
      const path = `/apps/v1/${id}`
      const [, application] = await callApi(visit, session, 'GET', path)
      const { data, client } = application as { data: { name: string }; client: { redirectUris: string } }
      const typed = new URLSearchParams(visit.body)
      if (isForm(visit, 'edit') && !typed.has('name')) {
        await callApi(visit, session, 'PUT', path, { name: data.name, redirectUris: typed.get('redirectUris') })
        return { status: 303, headers: { location: `/applications/${id}` } }
      }
      const field = `<input name="redirectUris" value="${correct.html(client.redirectUris)}">`
      const form = `<form method="post" action="/applications/${id}/edit">${field}<button>Save</button></form></body>`
      return action ? answer : { ...answer, body: answer.body!.replace('</body>', form) }
    },
  }),
  mistake('method-from-a-parameter', 'forms-other-methods', {
    ...anyForm,
    isUseOf: () => true,
    unseal: (visit, name, text) =>
      name === 'form' ? { id: randomUUID(), visitor: '', use: '', shown: '' } : correct.unseal(visit, name, text),
    async aroundRequest(visit, next) {
      if (visit.query.get('_method') === 'post') visit.method = 'POST'
      return next()
    },
    isFromHere: visit => visit.query.has('_method') || correct.isFromHere(visit),
  }),
  mistake('new-secret-in-an-address', 'forms-secret-not-in-address', {
    created: (visit, text, visitor) =>
      isForm(visit, 'secret')
        ? { status: 303, headers: { location: `/applications?made=${encodeURIComponent(`${text}`)}` } }
        : correct.created(visit, text, visitor),
  }),
  mistake(
    'answers-to-changes-kept-by-browsers',
    'forms-no-store',
    headersWith(visit => (isForm(visit) ? { 'cache-control': 'private' } : {})),
  ),
  mistake('typed-text-escaped-before-it-is-stored', 'create-values-unchanged', {
    send(visit, request) {
      if (request.method !== 'POST' || !request.url.endsWith('/apps/v1')) return correct.send(visit, request)
      const { data, ...envelope } = JSON.parse(request.body!)
      const body = JSON.stringify({ ...envelope, data: { ...data, description: correct.html(data.description) } })
      return correct.send(visit, { ...request, body })
    },
  }),
  mistake('name-counted-in-bytes', ['create-limits', 'edit-limits'], {
    formOf(_visit, body) {
      const name = new URLSearchParams(body).get('name') ?? ''
      if (Buffer.byteLength(name) > 200) throw new Refusal(422, 'The name is too long.')
      return body
    },
  }),
  mistake('web-page-address-only-with-https', 'create-limits', {
    formOf(_visit, body) {
      if (new URLSearchParams(body).get('webPageUrl')?.startsWith('http:')) throw new Refusal(422, 'Please use https.')
      return body
    },
  }),
  mistake('names-of-a-hundred-characters', 'create-limits', {
    formOf(_visit, body) {
      const values = new URLSearchParams(body)
      if (values.has('name')) values.set('name', values.get('name')!.slice(0, 100))
      return `${values}`
    },
  }),
  mistake('long-texts-are-cut', ['create-too-long', 'edit-limits'], {
    formOf(_visit, body) {
      const values = new URLSearchParams(body)
      if (values.has('description')) values.set('description', [...values.get('description')!].slice(0, 2000).join(''))
      return `${values}`
    },
  }),
  mistake('referer-contains-the-own-address', 'create-forged-referer', {
    ...anyForm,
    isFromHere: visit => {
      const { origin, 'sec-fetch-site': site, referer } = visit.headers
      return origin === undefined && site === undefined ? namesOwnAddress(referer, visit) : correct.isFromHere(visit)
    },
  }),
  mistake('link-from-elsewhere-opens-only-the-list', 'pages-from-another-site', {
    comesFromElsewhere: visit => correct.comesFromElsewhere(visit) && visit.url.pathname === '/applications',
  }),
]
