// Headers that an answer from the platform may have, and that the client must not copy into its own answers.
import type { HttpExchange } from '../browser/browser.ts'
import { expect, setCookiesOf } from '../findings.ts'

const mark = 'conformance-mark'
const other = 'other.example'

/** Each value is recognizable. Leaves out Retry-After, because a client may set this header itself. */
export const foreignHeaders = {
  'set-cookie': 'conformance-planted=1; Path=/',
  'x-conformance-mark': 'passed-back',
  location: `https://${other}/${mark}`,
  refresh: `0; url=https://${other}/`,
  'clear-site-data': '"cookies"',
  'access-control-allow-origin': `https://${mark}.example`,
  'cache-control': `public, max-age=4711, ${mark}`,
  etag: `"${mark}"`,
  'x-request-id': mark,
  'content-language': mark,
  link: `<https://${other}/${mark}>; rel="preload"`,
  'www-authenticate': `Basic realm="${mark}"`,
  'x-ratelimit-remaining': mark,
}

/** Returns the name of a header that the client has copied from an answer with the foreign headers. */
function passedHeader(exchange: HttpExchange): string | undefined {
  if (!('status' in exchange.response)) return undefined
  if (setCookiesOf(exchange).some(line => line.includes('conformance-planted'))) return 'set-cookie'
  const { headers } = exchange.response
  if (headers.has('x-conformance-mark')) return 'x-conformance-mark'
  if ((headers.get('refresh') ?? '').includes(other)) return 'refresh'
  return [...headers].find(([, value]) => value.includes(mark))?.[0]
}

/** Fails if an answer from the client contains one of the foreign headers. */
export function expectOwnHeaders(trail: HttpExchange[]): void {
  for (const one of trail) {
    const name = passedHeader(one)
    expect(name === undefined, `The client copied the header ${name} from one of the platform's answers.`, one)
  }
}

/** The rule of the checks with these headers. */
export const foreignHeadersRule = {
  rule: 'UP-13',
  why: "If the client copies such a header, another server can set a cookie, redirect the page or grant a permission on the client's behalf.",
  fix: "Set the headers of every answer yourself. Do not copy headers from the platform's answers, whatever their status is.",
} as const
