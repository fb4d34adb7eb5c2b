// Clients that trust text that other people wrote, on a page or in an address.
import { request } from 'node:http'
import { correct } from '../../behaviour.ts'
import { crashIf, headersWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

export const pageTexts: Mistake[] = [
  mistake('names-as-html', ['page-escapes-script', 'page-escapes-attribute', 'page-escapes-title'], {
    html: text => text,
  }),
  mistake('names-in-single-quotes', 'page-escapes-single-quote', {
    html: text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    itemOf: (visit, application) =>
      `<span title='${visit.behaviour.html(application.name)}'>${correct.itemOf(visit, application)}</span>`,
  }),
  mistake('names-half-escaped', 'page-escapes-double-quote', {
    html: text => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    itemOf: (visit, application) =>
      `<span title="${visit.behaviour.html(application.name)}">${correct.itemOf(visit, application)}</span>`,
  }),
  mistake('names-are-templates', 'page-escapes-template', {
    itemOf: (visit, application) =>
      correct
        .itemOf(visit, application)
        .replace(/\{\{(\d+)\*(\d+)\}\}/g, (_, one, other) => `${Number(one) * Number(other)}`),
  }),
  mistake('links-of-any-kind', 'page-escapes-anything', {
    itemOf: (visit, application) =>
      `${correct.itemOf(visit, { ...application, webPageUrl: '' })} <a href="${correct.html(application.webPageUrl)}">web page</a>`,
  }),
  mistake('icons-from-elsewhere', 'page-icon-not-loaded', {
    ...headersWith(() => ({
      'content-security-policy': "default-src 'none'; img-src *; form-action 'self'; frame-ancestors 'none'",
    })),
    itemOf: (visit, application) =>
      `<img src="${correct.html(application.webPageUrl)}">${correct.itemOf(visit, application)}`,
  }),
  mistake('links-without-rel', 'page-links-apart', {
    itemOf: (visit, application) =>
      correct.itemOf(visit, application).replace(' rel="noopener noreferrer nofollow"', ''),
  }),
  mistake('path-of-the-visitor-to-the-api', ['page-id-slashes', 'page-id-dots', 'page-id-query', 'page-id-backslash'], {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
  }),
  mistake('id-sent-as-it-came', 'page-id-fragment', {
    applicationPath: id => `/apps/v1/${decodeURIComponent(id)}`,
    // Uses node:http, because fetch would normalize the path.
    send: (visit, { method, url, headers, body }) =>
      new Promise((resolve, reject) => {
        const { hostname, port, origin } = new URL(url)
        const call = request({ hostname, port, method, headers, path: url.slice(origin.length) }, async response => {
          const text = await new Response(response as never).text()
          resolve([response.statusCode!, visit.behaviour.parse(text, response.headers['content-type'] ?? '')])
        })
        call.on('error', reject).end(body)
      }),
  }),
  mistake(
    'null-byte-in-an-id-is-a-crash',
    'page-id-null-byte',
    crashIf(({ url }) => url.pathname.includes('%00')),
  ),
  mistake('id-decoded-twice', 'page-id-twice', {
    applicationPath: id => `/apps/v1/${decodeURIComponent(decodeURIComponent(id))}`,
  }),
]
