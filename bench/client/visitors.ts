// Plays the browsers: signs in over and over, reads the list, and checks that every answer is what it should be.
import { type Dispatcher, Pool } from 'undici'
import { repeat } from '../numbers.ts'
import type { Code } from './code.ts'

/** A login that has begun: what the portal's redirect asks for, and the cookies that the server has set. */
export type StartedLogin = { callback: string; cookies: string }
export type Visitors = ReturnType<typeof createVisitors>

/** What browsers send with every page they open. */
const browserHeaders = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.9',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-user': '?1',
  'upgrade-insecure-requests': '1',
}

export function createVisitors(url: string, clientId: string) {
  const pool = new Pool(url, { connections: 64, pipelining: 1 })

  async function open(path: string, cookies: string, site: 'none' | 'same-origin' | 'cross-site') {
    const headers = { ...browserHeaders, 'sec-fetch-site': site, ...(cookies ? { cookie: cookies } : {}) }
    const { statusCode, headers: answered, body } = await pool.request({ method: 'GET', path, headers })
    return { statusCode, headers: answered, text: await body.text() }
  }

  async function beginLogin(listSize: number): Promise<StartedLogin> {
    const { statusCode, headers } = await open('/login', '', 'none')
    if (statusCode !== 302) throw new Error(`/login answered ${statusCode}`)
    const asked = new URL(String(headers.location)).searchParams
    const code: Code = { listSize, clientId, nonce: asked.get('nonce') ?? undefined }
    const answer = new URLSearchParams({
      code: Buffer.from(JSON.stringify(code)).toString('base64url'),
      state: asked.get('state') ?? '',
      redirect_uri: asked.get('redirect_uri') ?? '',
      subject: 'visitor-1',
      client_id: clientId,
    })
    return { callback: `/exchangeToken?${answer}`, cookies: readCookies(headers) }
  }

  /** Gives the cookies of the session. */
  async function finishLogin({ callback, cookies }: StartedLogin): Promise<string> {
    const { statusCode, headers } = await open(callback, cookies, 'cross-site')
    const session = readCookies(headers)
    if (![200, 302, 303].includes(statusCode) || !session) throw new Error(`/exchangeToken answered ${statusCode}`)
    return session
  }

  async function readList(session: string): Promise<void> {
    const { statusCode, text } = await open('/applications', session, 'same-origin')
    if (statusCode !== 200 || !text.includes('Weather &amp; news 1'))
      throw new Error(`/applications answered ${statusCode}`)
  }

  return {
    beginLogins: (count: number, listSize: number) => repeat(count, () => beginLogin(listSize)),

    finishLogins: (logins: StartedLogin[]) => repeat(logins.length, index => finishLogin(logins[index]!)),

    readLists: (count: number, session: string) => repeat(count, () => readList(session)),

    /** Milliseconds that each list took, asked for at a steady rate whether or not the ones before have come. */
    async readListsSteadily(perSecond: number, seconds: number, session: string): Promise<number[]> {
      const times: number[] = []
      const count = Math.round(perSecond * seconds)
      const startedAt = performance.now()
      const sent: Promise<void>[] = []
      while (sent.length < count) {
        const due = ((performance.now() - startedAt) / 1000) * perSecond
        while (sent.length < Math.min(due, count)) {
          const sentAt = performance.now()
          sent.push(readList(session).then(() => void times.push(performance.now() - sentAt)))
        }
        await new Promise(resolve => setTimeout(resolve, 1))
      }
      await Promise.all(sent)
      return times
    },

    close: () => pool.close(),
  }
}

/** The Cookie header that a browser would send back; cookies that end at once are gone. */
function readCookies(headers: Dispatcher.ResponseData['headers']): string {
  const lines = [headers['set-cookie'] ?? []].flat()
  const kept = lines.filter(line => !/;\s*(Max-Age=0|Expires=Thu, 01 Jan 1970)/i.test(line))
  return kept.map(line => line.split(';', 1)[0]).join('; ')
}
