// Clients with mistakes in the text of a form that arrives after the session has ended.
import { bodyWith } from '../../changes.ts'
import { leadToLogin, withDrafts } from '../../drafts.ts'
import { type Mistake, mistake } from '../../mistake.ts'

export const drafts: Mistake[] = [
  mistake(
    'long-form-leads-to-the-login',
    ['create-no-session-long', 'create-ended-session-long', 'edit-no-session-long'],
    withDrafts({ afterLongForm: leadToLogin }),
  ),
  mistake('draft-shown-again-and-again', 'create-draft-once', withDrafts({ isOnce: false })),
  mistake(
    'sign-in-link-in-the-tab-of-the-form',
    'create-sign-in-leads-back',
    bodyWith(body => body.replace(' target="_blank"', '')),
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
