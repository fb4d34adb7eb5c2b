// Clients that lose or misuse the text of a form that arrives after the session has ended.
import type { Behaviour } from '../../behaviour.ts'
import { answerWith, bodyWith } from '../../changes.ts'
import { leadToLogin, withDrafts } from '../../drafts.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { page } from '../../pages.ts'
import { cookieOf } from '../../requests.ts'

const losesLongForms = withDrafts({ afterLongForm: leadToLogin, longestForm: 1900 })

const dropDescription = (body: string) => body.replace(/<label>description .*?<\/label>/s, '')

const renameRedirects = (body: string) =>
  body.replace('name="redirectUris"', 'name="redirects"').replace('name="defaultRedirectUri"', 'name="defaultRedirect"')

/** A client that loses long forms. `change`: changes the HTML of every page. */
const losesLongFormsOf = (change: (body: string) => string): Partial<Behaviour> => ({
  ...losesLongForms,
  aroundRequest: (visit, next) =>
    bodyWith(change).aroundRequest!(visit, () => losesLongForms.aroundRequest!(visit, next)),
})

export const drafts: Mistake[] = [
  mistake(
    'long-form-leads-to-the-login',
    ['create-no-session-long', 'create-ended-session-long', 'edit-no-session-long'],
    withDrafts({ afterLongForm: leadToLogin }),
  ),
  mistake(
    'long-form-without-description-leads-to-the-login',
    ['create-no-session-long', 'create-ended-session-long', 'edit-no-session-long'],
    losesLongFormsOf(dropDescription),
  ),
  mistake(
    'long-form-with-another-name-of-the-redirects-leads-to-the-login',
    'edit-no-session-long',
    losesLongFormsOf(body => renameRedirects(dropDescription(body))),
  ),
  mistake('draft-shown-again-and-again', 'create-draft-once', withDrafts({ isOnce: false })),
  mistake(
    'sign-in-link-in-the-tab-of-the-form',
    'create-sign-in-leads-back',
    bodyWith(body => body.replace(' target="_blank"', '')),
  ),
  mistake(
    'sign-in-link-in-the-tab-of-a-form-with-a-token-cookie',
    'create-sign-in-leads-back',
    // The cookie for the form tokens lives longer than the session.
    answerWith((answer, visit) => {
      const hasToken = cookieOf(visit, '__Host-form-token') !== undefined
      if (visit.method === 'POST' && !hasToken) return page(visit, 403, 'This form is out of date', '')
      visit.setCookies.push('__Host-form-token=token; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=31536000')
      return { ...answer, body: answer.body?.replace(' target="_blank"', '') }
    }),
  ),
  mistake(
    'draft-without-a-way-back',
    'create-sign-in-leads-back',
    withDrafts({
      afterKeeping: () => ({
        status: 401,
        headers: { 'content-type': 'text/html; charset=utf-8' },
        body: '<h1>Your session has ended</h1><p>We keep what you typed.</p><a href="/login">Sign in</a>',
      }),
    }),
  ),
  mistake(
    'draft-with-the-present-version',
    'edit-overtaken-draft',
    withDrafts({ tokenOfChange: (_ofDraft, fresh) => fresh }),
  ),
]
