// Clients that treat the form for a new group differently from their other forms.
import { bodyWith, headersWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page, signOutForm } from '../../pages.ts'

export const groupForm: Mistake[] = [
  mistake('group-form-without-session-leads-to-login', 'group-form-no-session', {
    groupWithoutSession: () => ({ status: 302, headers: { location: '/login' } }),
  }),
  mistake('group-form-answered-with-a-page', 'group-form-reload', {
    groupCreated: visit => page(visit, 200, 'Groups', '<p>The group was created.</p><a href="/groups">Groups</a>'),
  }),
  mistake('group-form-failure-not-noticed', 'group-form-failed', {
    groupFailed: visit => visit.behaviour.groupCreated(visit),
  }),
  mistake('refused-group-form-loses-the-name', 'group-form-refused-kept', {
    ...bodyWith((body, { url, method }) =>
      url.pathname === '/groups' && method === 'POST' ? body.replace(/(name="name" value=")[^"]*/, '$1') : body,
    ),
  }),
  mistake('group-form-401-like-every-failure', 'group-form-401', {
    mostRenewals: 0,
    groupFailed: visit => page(visit, 502, 'No group was created', '<p>The platform does not work.</p>'),
  }),
  mistake('group-names-on-their-page-as-they-came', 'page-escapes-every-field', {
    groupItem: ({ name }) => `<li>${name}</li>`,
  }),
  mistake('groups-page-kept', 'every-page-no-store', {
    ...headersWith(({ url }) => (url.pathname === '/groups' ? { 'cache-control': undefined } : {})),
  }),
  mistake('groups-page-without-sign-out', 'every-page-sign-out', {
    ...bodyWith((body, { url }) => (url.pathname === '/groups' ? body.replace(signOutForm, '') : body)),
  }),
  mistake('groups-page-without-policy', 'every-page-policy', {
    ...headersWith(({ url }) => (url.pathname === '/groups' ? { 'content-security-policy': undefined } : {})),
  }),
]
