// Clients that show a text to the wrong person, show a text wrongly, or forget a rule on some pages.
import { page } from '../pages.ts'
import { right } from '../parts.ts'
import { type Call, callApi } from '../platform.ts'
import type { Visit } from '../visit.ts'
import { answerWith, bodyWith, type Fault, fault, memoryOf } from './fault.ts'
import { readName } from './name.ts'

const cookieOf = (visit: Visit, name: string) => visit.cookies.find(([key]) => key === name)?.[1]
const isApplication = ({ url }: Visit) => /^\/applications\/(?!new)/.test(url.pathname)

/** Asks for the visitor's name during the login, and adds the HTML that `write` returns to each page. */
const named = (
  tokenOf: (visit: Visit, token: string) => Promise<string>,
  write: (name: string, visit: Visit) => string,
) => ({
  async exchange(visit: Visit, ...rest: [Parameters<typeof right.exchange>[1], Parameters<typeof right.exchange>[2]]) {
    const tokens = await right.exchange(visit, ...rest)
    const accessToken = await tokenOf(visit, tokens.accessToken)
    const name = await readName(visit, { accessToken, visitor: '', expiresAt: 0 }).catch(() => undefined)
    memoryOf(visit).set(`name for ${tokens.accessToken}`, name)
    return tokens
  },
  ...answerWith((answer, visit) => {
    const name = memoryOf(visit).get(`name for ${right.readSession(visit)?.accessToken}`)
    return name && answer.body ? { ...answer, body: `${answer.body}${write(`${name}`, visit)}` } : answer
  }),
})

export const peopleAndPages: Fault[] = [
  fault('sign-out-forgotten-on-a-page-of-an-application', 'logout-not-silent', {
    askToSignIn: visit =>
      isApplication(visit) ? { status: 302, headers: { location: '/login' } } : right.askToSignIn(visit),
  }),
  fault('sign-out-forgotten-after-one-page', 'logout-not-silent', {
    askToSignIn(visit) {
      if (cookieOf(visit, '__Host-left'))
        visit.setCookies.push('__Host-left=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0')
      return right.askToSignIn(visit)
    },
  }),
  fault(
    'heading-escaped-twice',
    'page-escapes-once',
    bodyWith((body, visit) =>
      isApplication(visit)
        ? body.replace(/<h1>(.*?)<\/h1>/, (_, text: string) => `<h1>${text.replaceAll('&', '&amp;')}</h1>`)
        : body,
    ),
  ),
  fault('values-of-a-form-escaped-twice', 'page-escapes-once', {
    attribute: ({ parts }, text) => parts.html(parts.html(text)),
  }),
  fault(
    'refused-form-without-a-sign-out-button',
    'every-page-sign-out',
    bodyWith((body, { method }) =>
      method === 'POST' ? body.replace(/<form method="post" action="\/logout">.*?<\/form>/, '') : body,
    ),
  ),
  fault('message-for-the-next-visitor', ['next-visitor-secret-after-sign-out', 'next-visitor-secret-other-login'], {
    created(visit, ...rest) {
      const name = encodeURIComponent(new URLSearchParams(visit.body).get('name') ?? '')
      visit.setCookies.push(`__Host-message=${name}; Path=/; Secure; HttpOnly; Max-Age=60`)
      return right.created(visit, ...rest)
    },
    ...answerWith((answer, visit) => {
      const made = cookieOf(visit, '__Host-message')
      if (!made || answer.status !== 200 || visit.url.pathname !== '/applications') return answer
      visit.setCookies.push('__Host-message=; Path=/; Secure; HttpOnly; Max-Age=0')
      return { ...answer, body: `${answer.body}<p>Created ${right.html(decodeURIComponent(made))}</p>` }
    }),
  }),
  fault(
    'name-asked-with-the-token-of-the-last-login',
    'tabs-logins-at-once',
    named(
      async (visit, token) => {
        memoryOf(visit).set('token', token)
        await new Promise(resolve => setTimeout(resolve, 250))
        return `${memoryOf(visit).get('token')}`
      },
      name => `<p>${right.html(name)}</p>`,
    ),
  ),
  fault(
    'name-as-html-on-a-page-of-an-application',
    'page-escapes-visitor-name',
    named(
      async (_, token) => token,
      (name, visit) => (isApplication(visit) ? `<p>${name}</p>` : ''),
    ),
  ),
  fault('unknown-application-with-status-200', 'not-found', {
    async around(visit, next) {
      const answer = await next()
      const isUnknown = answer.status === 404 && visit.url.pathname.endsWith('/edit')
      return isUnknown ? page(visit, 200, 'There is no such application', '') : answer
    },
  }),
  fault('address-as-html-on-the-page-that-leads-on', 'request-escapes', {
    async around(visit, next) {
      const answer = await next()
      const isLead = answer.body?.includes('http-equiv="refresh"') && visit.url.pathname !== '/exchangeToken'
      return isLead ? { ...answer, body: linkTo(addressOf(visit)) } : answer
    },
  }),
  fault('address-as-html-after-the-sign-out', 'request-escapes', {
    askToSignIn(visit) {
      const answer = right.askToSignIn(visit)
      if (answer.status !== 401) return answer
      const headers = { 'content-type': 'text/html; charset=utf-8' }
      return { ...answer, headers, body: linkTo(`/login?returnTo=${addressOf(visit)}`) }
    },
  }),
  fault(
    'description-from-the-query-as-html',
    'request-escapes',
    bodyWith((body, { method, query }) =>
      method === 'GET' ? body.replace(/<textarea[^>]*>/, start => start + (query.get('description') ?? '')) : body,
    ),
  ),
  fault('groups-of-the-last-visitor-shown-after-a-failure', 'other-visitors-data-while-down', {
    async send(visit, request) {
      if (!isForGroups(request)) return right.send(visit, request)
      const answer = await right.send(visit, request).catch(() => undefined)
      if (answer?.[0] === 200) memoryOf(visit).set('groups', answer)
      return (memoryOf(visit).get('groups') as typeof answer) ?? answer ?? [502, undefined]
    },
  }),
  fault('form-with-an-empty-group-list-after-403', 'create-without-groups', {
    async send(visit, request) {
      const answer = await right.send(visit, request)
      if (isForGroups(request)) memoryOf(visit).set('status', answer[0])
      return answer
    },
    ...bodyWith((body, visit) =>
      memoryOf(visit).get('status') === 403
        ? body.replace(/<input name="groupId"[^>]*>/, '<select name="groupId"></select>')
        : body,
    ),
  }),
  fault('form-sent-again-after-the-login', 'create-no-session', {
    keepDraft: visit =>
      visit.parts.setCookie(visit, '__Host-draft', visit.body, 'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600'),
    async around(visit, next) {
      const answer = await next()
      const session = right.readSession(visit)
      const draft = visit.parts.unseal(visit, '__Host-draft', cookieOf(visit, '__Host-draft') ?? '')
      if (!session || typeof draft !== 'string' || visit.url.pathname !== '/applications/new') return answer
      const { form: _, ...data } = Object.fromEntries(new URLSearchParams(draft))
      await callApi(visit, session, 'POST', '/apps/v1', { ...data, defaultRedirectUri: data.redirectUris })
      return answer
    },
  }),
]

const isForGroups = ({ url }: Call) => url.includes('/links?')

/** The path and the query of the request, without their encoding. */
function addressOf({ url: { pathname, search } }: Visit): string {
  return decodeURIComponent(pathname) + decodeURIComponent(search.replaceAll('+', ' '))
}

function linkTo(address: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>One moment</title><a href="${address}">Continue</a></html>`
}
