// Describes a request and its answer in a few lines without secrets.

import { guidanceOf } from '../../sandbox/lab/explain/guidance.ts'
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { HttpExchange } from '../browser/browser.ts'
import { parsePage, textsIn } from '../browser/html.ts'
import { hide, hideCookies, hideSetCookie } from './hide.ts'

/** Request headers that the evidence shows, because findings can depend on these headers. */
const telling = ['origin', 'referer', 'content-type']
const longestText = 300
/** The maximum number of cookies that the evidence shows, because nobody reads a longer list. */
const mostCookies = 6

/** Describes a request of the browser to the client or the portal. */
export function describeHttpExchange({ request, response, durationMs }: HttpExchange): string {
  const lines = [`${request.method} ${hide(request.url)}`]
  const fetchMetadata: string[] = []
  for (const [name, value] of Object.entries(request.headers)) {
    const [, meta] = /^sec-(?:fetch-)?(site|mode|dest|purpose)$/i.exec(name) ?? []
    if (meta) fetchMetadata.push(`${meta}=${value}`)
    else if (name.toLowerCase() === 'cookie')
      lines.push(`  Cookie: ${firstOf(hideCookies(value), mostCookies).join('; ')}`)
    else if (telling.includes(name.toLowerCase())) lines.push(`  ${name}: ${hide(value)}`)
  }
  if (fetchMetadata.length > 0) lines.push(`  Sec-Fetch: ${fetchMetadata.join(', ')}`)
  if (request.body) lines.push(`  ${shorten(hide(request.body))}`)
  if ('error' in response) return [...lines, `→ no answer: ${response.error}`].join('\n')
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  lines.push(`→ ${response.status} ${type} after ${Math.round(durationMs)} ms`.replace('  ', ' '))
  const location = response.headers.get('location')
  if (location !== null) lines.push(`  Location: ${hide(location)}`)
  for (const line of firstOf(response.setCookies.map(hideSetCookie), mostCookies)) lines.push(`  Set-Cookie: ${line}`)
  if (location === null && response.body) lines.push(`  ${shorten(hide(textOf(response.body)))}`)
  return lines.join('\n')
}

/** Describes a request of the client to the platform. */
export function describeStep({ listener, request, response, reason }: LabStep): string {
  const lines = [`at the ${listener === 'api' ? 'API' : 'portal'}: ${request.method} ${hide(request.url)}`]
  const { authorization } = request.headers
  if (authorization) lines.push(`  Authorization: ${hide(authorization)}`)
  const body = typeof request.body === 'object' && request.body !== null ? request.body : undefined
  if (body) lines.push(`  ${shorten(hide(toForm(body)))}`)
  lines.push(`→ ${response.status}${reason ? ` (${reason})` : ''}`)
  if (reason && response.status >= 400) {
    const { found, fix, reference } = guidanceOf(reason)
    lines.push(`  ${found} ${fix} (${reference})`)
  }
  return lines.join('\n')
}

function toForm(body: object): string {
  return Object.entries(body)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('&')
}

/** Returns the visible text of a page. */
function textOf(html: string): string {
  const texts = textsIn(parsePage(html).root, ({ tagName }) => ['script', 'style', 'head'].includes(tagName))
  return texts.join(' ').replace(/\s+/g, ' ').trim()
}

function firstOf(texts: string[], most: number): string[] {
  return texts.length > most ? [...texts.slice(0, most), `and ${texts.length - most} more`] : texts
}

function shorten(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text
}
