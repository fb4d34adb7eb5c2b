// A page as a browser sees it: its links, its forms, and the target of its refresh.
import { type ContentPolicy, readContentPolicy } from './content-policy.ts'
import { type Form, readForms } from './form.ts'
import { attribute, type Element, type ParsedPage, parsePage, textOf } from './html.ts'
import { defaultPolicy, type ReferrerPolicy, readMetaPolicy, readReferrerPolicy } from './referrer.ts'

export interface Link {
  url: string
  text: string
  rel: string[]
  /** True if the link opens another tab. */
  opensTab: boolean
  /** Set if the link has a referrer policy of its own. */
  referrerPolicy: ReferrerPolicy | undefined
}

/** The refresh that a meta element or the Refresh header of a page causes. */
export interface Refresh {
  url: string
  /** Seconds. */
  delay: number
}

export interface Document {
  title: string
  links: Link[]
  forms: Form[]
  refresh: Refresh | undefined
  referrerPolicy: ReferrerPolicy
  contentPolicy: ContentPolicy
  /** `null` if the answer sandboxes the page. */
  origin: string
}

const parsed = new WeakMap<Headers, { body: string; page: ParsedPage }>()

/**
 * Parses an answer as a browser does. An answer that is not HTML counts as an empty page. Parses each answer only once,
 * because a check reads its links, its text and its scripts with separate functions.
 */
export function parseAnswer(headers: Headers, body: string): ParsedPage {
  const before = parsed.get(headers)
  if (before?.body === body) return before.page
  const page = parsePage(isHtml(headers, body) ? body : '')
  parsed.set(headers, { body, page })
  return page
}

/** Reads a page as a browser without scripts does. In an answer that is not HTML, only the Refresh header counts. */
export function readDocument(url: string, headers: Headers, body: string): Document {
  const { elements, owners } = parseAnswer(headers, body)
  const named = (name: string) => elements.filter(({ tagName }) => tagName === name)
  const href = named('base')
    .map(element => attribute(element, 'href'))
    .find(value => value !== undefined)
  const base = resolve(href ?? '', url) ?? url
  const meta = (key: 'name' | 'http-equiv', value: string) =>
    named('meta')
      .filter(element => attribute(element, key)?.trim().toLowerCase() === value)
      .map(element => attribute(element, 'content') ?? '')
  const policies = [readReferrerPolicy(headers.get('referrer-policy')), ...meta('name', 'referrer').map(readMetaPolicy)]
  const contentPolicy = readContentPolicy(
    url,
    headers.get('content-security-policy') ?? '',
    meta('http-equiv', 'content-security-policy'),
  )
  const refreshes = [headers.get('refresh') ?? '', ...meta('http-equiv', 'refresh')]
    .map(text => readRefresh(text, url, base))
    .filter(one => one !== undefined)
  // Browsers follow the refresh with the shortest delay. If several refreshes have this delay, browsers follow the last
  // one.
  const soonest = Math.min(...refreshes.map(({ delay }) => delay))
  return {
    title: named('title').map(textOf)[0] ?? '',
    links: elements
      .filter(({ tagName }) => tagName === 'a' || tagName === 'area')
      .flatMap(element => readLink(element, base)),
    forms: readForms(elements, owners, url, base),
    refresh: contentPolicy.mayRefresh ? refreshes.findLast(({ delay }) => delay === soonest) : undefined,
    referrerPolicy: policies.findLast(policy => policy !== undefined) ?? defaultPolicy,
    contentPolicy,
    origin: contentPolicy.isOpaque ? 'null' : new URL(url).origin,
  }
}

function readLink(element: Element, base: string): Link[] {
  const url = resolve(attribute(element, 'href'), base)
  if (url === undefined || !/^https?:/.test(url)) return []
  const rel = (attribute(element, 'rel') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const ownPolicy = readReferrerPolicy(attribute(element, 'referrerpolicy'))
  const referrerPolicy = rel.includes('noreferrer') ? 'no-referrer' : ownPolicy
  const target = (attribute(element, 'target') ?? '').toLowerCase()
  const opensTab = !['', '_self', '_parent', '_top'].includes(target)
  return [{ url, text: textOf(element), rel, opensTab, referrerPolicy }]
}

/** Reads a refresh such as `0; url=/next`, in every format that browsers accept (HTML, 4.2.5.3). */
function readRefresh(text: string, url: string, base: string): Refresh | undefined {
  const found = /^\s*(\d+|(?=\.))[\d.]*(?:$|[\s;,]\s*[;,]?\s*(?:url\s*=\s*)?(.*)$)/is.exec(text)
  if (!found) return undefined
  const quoted = /^(["'])(.*?)(?:\1|$)/s.exec(found[2] ?? '')
  const address = quoted ? quoted[2] : found[2]
  const target = address ? resolve(address, base) : url
  if (target === undefined || !/^https?:/.test(target)) return undefined
  return { url: target, delay: Number(found[1] || 0) }
}

/** Whether a browser reads the body as a page. */
export function isHtml(headers: Headers, body: string): boolean {
  const type = headers.get('content-type')
  return type ? /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(type) : body.trimStart().startsWith('<')
}

/** Returns undefined if the text is not a valid address. */
function resolve(address: string | undefined, base: string): string | undefined {
  return address !== undefined && URL.canParse(address, base) ? new URL(address, base).href : undefined
}
