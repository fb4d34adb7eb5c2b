// Changes the small client so that it keeps a form in a cookie while the visitor signs in again.
import { type Behaviour, correct } from './behaviour.ts'
import { editPage, formPage } from './pages.ts'
import { isRecord } from './platform.ts'
import { cookieOf } from './requests.ts'
import type { Answer, Visit } from './visit.ts'

const cookie = '__Host-draft'
const attributes = (seconds: number) => `Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=${seconds}`
const drop = ({ setCookies }: Visit) => void setCookies.push(`${cookie}=; ${attributes(0)}`)

interface Draft {
  page: string
  body: string
  visitor: unknown
}

const editForm = /^\/applications\/([\w-]+)\/edit$/

/** The path of the page with the form, if the request opens or sends a form whose text the client keeps as a draft. */
function pageOf({ method, url: { pathname } }: Visit): string | undefined {
  if (editForm.test(pathname)) return pathname
  const create = method === 'POST' ? '/applications' : '/applications/new'
  return pathname === create ? '/applications/new' : undefined
}

/** Redirects to the login path, and from there back to the page with the form. */
export const leadToLogin = (_answer: Answer, page: string): Answer => ({
  status: 303,
  headers: { location: `/login?returnTo=${encodeURIComponent(page)}` },
})

/** How a correct client handles drafts. A mistake replaces some of these functions and values. */
export const correctDrafts = {
  /** The answer to a form that the client has kept. */
  afterKeeping: leadToLogin,
  /** The answer to a form that is too long for a cookie. */
  afterLongForm: (answer: Answer, _page: string): Answer => answer,
  /** The client keeps forms of at most this many characters. */
  longestForm: 2560,
  isOnce: true,
  /** Which hidden token the edit form gets: the token of the draft, or the token of a new form. */
  tokenOfChange: (ofDraft: string, _fresh: string): string => ofDraft,
}

/**
 * Keeps a form that is not too long for a cookie. The draft belongs to the visitor of the form, is shown once, and ends
 * when the visitor signs out.
 */
export function withDrafts(change: Partial<typeof correctDrafts> = {}): Partial<Behaviour> {
  const { afterKeeping, afterLongForm, longestForm, isOnce, tokenOfChange } = { ...correctDrafts, ...change }

  function keep(visit: Visit, page: string): void {
    const form = correct.unseal(visit, 'form', new URLSearchParams(visit.body).get('form') ?? '')
    const draft: Draft = { page, body: visit.body, visitor: isRecord(form) ? form.visitor : undefined }
    correct.setCookie(visit, cookie, draft, attributes(600))
  }

  function show(visit: Visit, page: string, answer: Answer): Answer {
    const sealed = cookieOf(visit, cookie)
    const draft = sealed && (correct.unseal(visit, cookie, sealed) as Draft | undefined)
    if (!draft || draft.page !== page || draft.visitor !== correct.readSession(visit)?.visitor) return answer
    if (isOnce) drop(visit)
    const values = new URLSearchParams(draft.body)
    const fresh = /name="form" value="([^"]*)"/.exec(answer.body ?? '')?.[1] ?? ''
    const view = { groups: [], values, problem: '' }
    const id = editForm.exec(page)?.[1]
    if (id === undefined) return formPage(visit, 200, { ...view, token: fresh })
    return editPage(visit, 200, id, { ...view, token: tokenOfChange(values.get('form') ?? '', fresh) })
  }

  return {
    // Browsers apply form-action also to the redirect that follows a form.
    headers: visit => ({
      ...correct.headers(visit),
      'content-security-policy': `default-src 'none'; form-action 'self' ${visit.settings.loginUrl}; frame-ancestors 'none'; base-uri 'none'`,
    }),
    async aroundRequest(visit, next) {
      const answer = await next()
      if (visit.url.pathname === '/logout') drop(visit)
      const page = pageOf(visit)
      if (page === undefined) return answer
      if (visit.method === 'GET') return answer.status === 200 ? show(visit, page, answer) : answer
      if (answer.status !== 401) return answer
      if (visit.body.length > longestForm) return afterLongForm(answer, page)
      keep(visit, page)
      return afterKeeping(answer, page)
    },
  }
}
