// A request and its answer in a few lines, with nothing secret in them.
import type { Step } from '../../sandbox/steps.ts'
import type { Exchange } from '../browser/browser.ts'
import { hide, hideCookies, hideSetCookie } from './hide.ts'

/** Headers of requests that decide something. */
const telling = ['origin', 'referer', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'content-type', 'host']
const longestText = 300

/** Between the browser and the client, or the portal. */
export function describeExchange({ request, response, durationMs }: Exchange): string {
  const lines = [`${request.method} ${hide(request.url)}`]
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.toLowerCase() === 'cookie') lines.push(`  Cookie: ${hideCookies(value)}`)
    else if (telling.includes(name.toLowerCase()) && name.toLowerCase() !== 'host')
      lines.push(`  ${name}: ${hide(value)}`)
  }
  if (request.body) lines.push(`  ${shorten(hide(request.body))}`)
  if ('fault' in response) return [...lines, `→ no answer: ${response.fault}`].join('\n')
  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  lines.push(`→ ${response.status} ${type} after ${Math.round(durationMs)} ms`.replace('  ', ' '))
  const location = response.headers.get('location')
  if (location !== null) lines.push(`  Location: ${hide(location)}`)
  for (const line of response.setCookies) lines.push(`  Set-Cookie: ${hideSetCookie(line)}`)
  if (location === null && response.body) lines.push(`  ${shorten(hide(textOf(response.body)))}`)
  return lines.join('\n')
}

/** Between the client and the platform. */
export function describeStep({ listener, request, response, reason }: Step): string {
  const lines = [`at the ${listener === 'api' ? 'API' : 'portal'}: ${request.method} ${hide(request.url)}`]
  const { authorization } = request.headers
  if (authorization) lines.push(`  Authorization: ${hide(authorization)}`)
  const body = typeof request.body === 'object' && request.body !== null ? request.body : undefined
  if (body) lines.push(`  ${shorten(hide(toForm(body)))}`)
  lines.push(`→ ${response.status}${reason ? ` (${reason})` : ''}`)
  return lines.join('\n')
}

function toForm(body: object): string {
  return Object.entries(body)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('&')
}

/** What one reads on a page. */
export function textOf(html: string): string {
  return html
    .replace(/<(script|style|head)\b.*?<\/\1>/gis, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

function shorten(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text
}
