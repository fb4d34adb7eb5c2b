// Clients with mistakes in the forms that change or remove an application.
import { correct } from '../../behaviour.ts'
import { answerWith, anyForm, namesOwnAddress } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'
import { callApi } from '../../platform.ts'
import { isForm } from '../../requests.ts'

/** The name that the application has at the API. */
let storedName = ''

export const changing: Mistake[] = [
  mistake('edit-form-with-raw-quotes', 'edit-escapes', {
    attribute: (_visit, text) => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  mistake('value-of-somebody-else-unescaped', 'edit-escapes', {
    isUnchanged(shown, stored) {
      storedName = new URLSearchParams(stored).get('name') ?? ''
      return correct.isUnchanged(shown, stored)
    },
    ...answerWith(answer =>
      answer.status === 409 ? { ...answer, body: `${answer.body}<p>Stored now: ${storedName}</p>` } : answer,
    ),
  }),
  mistake('etag-in-another-form', 'edit-works', {
    send: (visit, call) =>
      correct.send(visit, call.method === 'PUT' ? { ...call, headers: { ...call.headers, 'if-match': '"x"' } } : call),
  }),
  mistake('later-edit-overwrites', 'edit-overtaken', { isUnchanged: () => true }),
  mistake(
    'overtaken-edit-loses-the-text',
    'edit-overtaken-kept',
    answerWith((answer, visit) =>
      visit.method === 'POST' && visit.url.pathname.endsWith('/edit') && answer.status === 409
        ? page(visit, 409, 'Somebody else has changed it', '<a href="/applications">Applications</a>')
        : answer,
    ),
  ),
  mistake(
    'overtaken-edit-looks-saved',
    'edit-overtaken-kept',
    answerWith((answer, visit) =>
      visit.method === 'POST' && visit.url.pathname.endsWith('/edit') && answer.status === 409
        ? { status: 303, headers: { location: '/applications' } }
        : answer,
    ),
  ),
  mistake('change-from-nowhere', 'forms-forged', {
    ...anyForm,
    isUseOf: () => true,
    isFromHere: visit =>
      correct.isFromHere(visit) ||
      (isForm(visit, 'edit') && visit.headers.origin === undefined && visit.headers['sec-fetch-site'] === undefined),
  }),
  mistake('group-form-accepted-from-other-sites', 'other-forms-forged', {
    async aroundRequest(visit, next) {
      const session = correct.readSession(visit)
      if (visit.method === 'POST' && visit.url.pathname === '/groups' && session) {
        const context = 'https://standards.oftrust.net/v2/Context/Identity/Group/'
        await callApi(visit, session, 'POST', '/identities/v1', { context, type: 'Group', data: { name: 'Tools' } })
        return { status: 303, headers: { location: '/applications' } }
      }
      const answer = await next()
      const form = '<form method="post" action="/groups"><input name="name"><button>New group</button></form></body>'
      return visit.url.pathname === '/applications' && answer.body
        ? { ...answer, body: answer.body.replace('</body>', form) }
        : answer
    },
  }),
  mistake('removal-from-an-origin-that-begins-alike', 'forms-forged', {
    ...anyForm,
    isUseOf: () => true,
    isFromHere: visit =>
      correct.isFromHere(visit) || (isForm(visit, 'remove') && namesOwnAddress(visit.headers.origin, visit)),
  }),
  mistake('new-secret-for-another-site', 'forms-forged', {
    ...anyForm,
    isUseOf: () => true,
    isFromHere: visit => visit.url.pathname.endsWith('/secret') || correct.isFromHere(visit),
  }),
  mistake('remove-by-a-link', 'links-change-nothing', { asksBeforeRemoving: false }),
  mistake('new-secret-by-a-link', 'links-change-nothing', {
    async aroundRequest(visit, next) {
      if (visit.method === 'GET' && visit.url.pathname.endsWith('/secret')) visit.method = 'POST'
      return next()
    },
    isFromHere: () => true,
    formOf: (visit, body) => body || visit.url.search.slice(1),
  }),
  mistake('id-of-a-form-decoded', 'form-id', {
    isUseOf: () => true,
    postedPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),
  mistake('id-in-the-query-of-a-form-not-encoded', 'form-id', {
    isUseOf: () => true,
    async aroundRequest(visit, next) {
      if (visit.url.pathname === '/removals') visit.url = new URL('/applications/x/remove', visit.url)
      const answer = await next()
      const body = answer.body?.replace(/action="\/applications\/([^/"]+)\/remove"/, 'action="/removals?id=$1"')
      return { ...answer, ...(body && { body }) }
    },
    send: (visit, call) =>
      correct.send(
        visit,
        call.method === 'DELETE' ? { ...call, url: `${visit.settings.apiUrl}/apps/v1/${visit.query.get('id')}` } : call,
      ),
  }),
]
