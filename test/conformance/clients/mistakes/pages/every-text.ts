// Clients that encode most of the text on a page, but not all of it.
import { correct } from '../../behaviour.ts'
import { addRaw, answerWith, bodyAt, bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { withNameInMemory } from '../../names.ts'
import { callApi } from '../../platform.ts'
import { cookieOf, isApplication, isCallback } from '../../requests.ts'
import type { Visit } from '../../visit.ts'

const typedName = ({ body }: Visit) => new URLSearchParams(body).get('name') ?? ''

/**
 * Behaves like a server that writes a value into a header without encoding it: each line of the value becomes a header.
 */
function linesToHeaders(value: (visit: Visit) => string) {
  return answerWith((answer, visit) => {
    const [, ...lines] = value(visit).split('\r\n')
    const headers = lines.flatMap(line => (/^[\w-]+: \S/.test(line) ? [line.split(': ') as [string, string]] : []))
    return { ...answer, headers: { ...answer.headers, ...Object.fromEntries(headers) } }
  })
}

/** The path and the query of the request, without their encoding. */
function addressOf({ url: { pathname, search } }: Visit): string {
  return decodeURIComponent(pathname) + decodeURIComponent(search.replaceAll('+', ' '))
}

function linkTo(address: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>One moment</title><a href="${address}">Continue</a></html>`
}

export const everyText: Mistake[] = [
  mistake('links-unless-they-begin-with-javascript', 'page-addresses-not-linked', {
    itemOf: (visit, application) =>
      correct.itemOf(visit, { ...application, webPageUrl: '' }) +
      (application.webPageUrl.startsWith('javascript:')
        ? ''
        : ` <a href="${correct.html(application.webPageUrl)}">web page</a>`),
  }),
  mistake('links-that-begin-with-http', 'page-addresses-not-linked', {
    itemOf: (visit, application) =>
      correct.itemOf(visit, { ...application, webPageUrl: '' }) +
      (application.webPageUrl.startsWith('http')
        ? ` <a href="${correct.html(application.webPageUrl)}">web page</a>`
        : ''),
  }),
  mistake('links-with-https-on-any-line', 'page-addresses-not-linked', {
    itemOf: (visit, application) =>
      correct.itemOf(visit, { ...application, webPageUrl: '' }) +
      (/^https?:\/\//m.test(application.webPageUrl)
        ? ` <a href="${correct.html(application.webPageUrl)}">web page</a>`
        : ''),
  }),
  mistake('name-in-a-script', 'page-escapes-every-field', {
    itemOf: (visit, application) =>
      `${correct.itemOf(visit, application)}<script>const name = "${application.name.replaceAll('<', '')}"</script>`,
  }),
  mistake('missing-names-as-text', 'page-missing-values', {
    readList(answer) {
      const list = correct.readList(answer)
      const { ItemList } = answer as { ItemList: { data?: { name?: unknown } }[] }
      return list.map((application, at) => ({ ...application, name: `${ItemList[at]?.data?.name}` }))
    },
  }),
  mistake('name-of-the-first-group-as-text', 'page-missing-values', {
    groupField: (visit, groups, chosen) => `<p>${groups[0]?.name}</p>${correct.groupField(visit, groups, chosen)}`,
  }),
  mistake(
    'heading-escaped-twice',
    'page-escapes-once',
    bodyWith((body, visit) =>
      isApplication(visit)
        ? body.replace(/<h1>(.*?)<\/h1>/, (_, text: string) => `<h1>${text.replaceAll('&', '&amp;')}</h1>`)
        : body,
    ),
  ),
  mistake('values-of-a-form-escaped-twice', 'page-escapes-once', {
    attribute: ({ behaviour }, text) => behaviour.html(behaviour.html(text)),
  }),
  mistake('name-of-the-visitor-as-html', 'page-escapes-visitor-name', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const session = correct.readSession(visit)
      if (!session || visit.url.pathname !== '/applications') return answer
      const portal = { ...visit, settings: { ...visit.settings, apiUrl: visit.settings.loginUrl } }
      const [, me] = await callApi(portal, session, 'GET', '/api/me')
      return { ...answer, body: addRaw(answer.body ?? '', (me as { firstName: string }).firstName) }
    },
  }),
  mistake(
    'name-as-html-on-a-page-of-an-application',
    'page-escapes-visitor-name',
    withNameInMemory(
      async (_, token) => token,
      (name, visit) => (isApplication(visit) ? `<p>${name}</p>` : ''),
    ),
  ),
  mistake(
    'message-of-the-address-as-html',
    'request-escapes',
    bodyAt('/cancelled', (body, { query }) => addRaw(body, query.get('message'))),
  ),
  mistake(
    'flash-cookie-as-html',
    'request-escapes',
    bodyWith((body, visit) => `${body}${decodeURIComponent(cookieOf(visit, 'flash') ?? '')}`),
  ),
  mistake('address-as-html-on-the-page-that-leads-on', 'request-escapes', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const isLead = answer.body?.includes('http-equiv="refresh"') && !isCallback(visit)
      return isLead ? { ...answer, body: linkTo(addressOf(visit)) } : answer
    },
  }),
  mistake('address-as-html-after-the-sign-out', 'request-escapes', {
    askToSignIn(visit) {
      const answer = correct.askToSignIn(visit)
      if (answer.status !== 401) return answer
      const headers = { 'content-type': 'text/html; charset=utf-8' }
      return { ...answer, headers, body: linkTo(`/login?returnTo=${addressOf(visit)}`) }
    },
  }),
  mistake(
    'description-from-the-query-as-html',
    'request-escapes',
    bodyWith((body, { method, query }) =>
      method === 'GET' ? body.replace(/<textarea[^>]*>/, start => start + (query.get('description') ?? '')) : body,
    ),
  ),
  mistake('request-id-of-the-visitor-on-error-pages', 'request-escapes', {
    ...answerWith((answer, { headers }) =>
      answer.status >= 400 ? { ...answer, body: `${answer.body}<p>Request ${headers['x-request-id']}</p>` } : answer,
    ),
  }),
  mistake(
    'language-of-the-address-as-a-header',
    'request-adds-no-header',
    linesToHeaders(({ query }) => query.get('lang') ?? ''),
  ),
  mistake('last-slash-removed-from-the-decoded-path', 'request-adds-no-header', {
    // Behaves like a server that writes the decoded path into Location: each further line of the path becomes a header.
    ...answerWith((answer, { url }) => {
      if (url.pathname.length < 2 || !url.pathname.endsWith('/')) return answer
      const [first = '', ...lines] = decodeURIComponent(url.pathname.slice(0, -1)).split('\r\n')
      const headers = lines.flatMap(line => (/^[\w-]+: \S/.test(line) ? [line.split(': ') as [string, string]] : []))
      const location = `/${encodeURI(first).replace(/^\/+/, '')}`
      return { status: 301, headers: { location, ...Object.fromEntries(headers) } }
    }),
  }),
  mistake(
    'message-with-the-typed-name-as-html',
    'typed-text-escaped',
    bodyAt('/applications', (body, visit) => (visit.method === 'POST' ? addRaw(body, typedName(visit)) : body)),
  ),
  mistake('typed-name-as-a-header', 'typed-text-adds-no-header', linesToHeaders(typedName)),
  mistake('changed-address-is-tried', 'typed-addresses-not-loaded', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const address = visit.url.pathname.endsWith('/edit') && new URLSearchParams(visit.body).get('privacyPolicyUrl')
      if (address) await fetch(address, { method: 'HEAD' }).catch(() => undefined)
      return answer
    },
  }),
  mistake('typed-address-is-tried', 'typed-addresses-not-loaded', {
    async aroundRequest(visit, next) {
      const answer = await next()
      const address = new URLSearchParams(visit.body).get('webPageUrl')
      if (address) await fetch(address).catch(() => undefined)
      return answer
    },
  }),
]
