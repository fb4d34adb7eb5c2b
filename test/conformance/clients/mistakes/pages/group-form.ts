// Clients that treat the form for a new group differently from their other forms.
import { correct } from '../../behaviour.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'

export const groupForm: Mistake[] = [
  mistake('group-form-from-anywhere', 'group-form-forged', {
    isFromHere: visit => visit.url.pathname === '/groups' || correct.isFromHere(visit),
    isFormOf: (form, visitor) => form.use === 'group' || correct.isFormOf(form, visitor),
  }),
  mistake('group-form-without-session-leads-to-login', 'group-form-no-session', {
    groupWithoutSession: () => ({ status: 302, headers: { location: '/login' } }),
  }),
  mistake('group-form-answered-with-a-page', 'group-form-reload', {
    groupCreated: visit => page(visit, 200, 'Groups', '<p>The group was created.</p><a href="/groups">Groups</a>'),
  }),
]
