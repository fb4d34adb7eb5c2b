// Simulates the browsers: signs in again and again, reads the list, and checks every answer.
import { type Dispatcher, Pool } from 'undici'
import { type Browser, createBrowser, type Page } from '../../src/conformance/browser/browser.ts'
import type { Send } from '../../src/conformance/browser/send.ts'
import { repeat } from '../numbers.ts'
import type { Code } from './code.ts'

/** A login that has begun: its browser, and the address that the portal redirects to. */
export type StartedLogin = { browser: Browser; callback: string }
export type Visitors = ReturnType<typeof createVisitors>

export function createVisitors(url: string, { clientId, portalUrl }: { clientId: string; portalUrl: string }) {
  // Connections stay open, so that the results do not include the time to open a connection.
  const pool = new Pool(url, { connections: 64, pipelining: 1 })
  const send: Send = async ({ method, url: { pathname, search }, headers, body = null }, signal) => {
    const path = pathname + search
    const answer = await pool.request({ method: method as Dispatcher.HttpMethod, path, headers, body, signal })
    return { status: answer.statusCode, headers: answer.headers, body: Buffer.from(await answer.body.arrayBuffer()) }
  }
  /** This browser does not follow redirects, because the bench measures the steps of a login separately. */
  const newBrowser = () => createBrowser({ send, stopAt: () => true })

  async function beginLogin(listSize: number): Promise<StartedLogin> {
    const browser = newBrowser()
    const { status, stoppedAt } = await browser.visit(`${url}/login`)
    if (!stoppedAt) throw new Error(`/login answered ${status}`)
    const asked = new URL(stoppedAt).searchParams
    const code: Code = { listSize, clientId, nonce: asked.get('nonce') ?? undefined }
    const answer = new URLSearchParams({
      code: Buffer.from(JSON.stringify(code)).toString('base64url'),
      state: asked.get('state') ?? '',
      redirect_uri: asked.get('redirect_uri') ?? '',
      subject: 'visitor-1',
      client_id: clientId,
    })
    return { browser, callback: `${url}/exchangeToken?${answer}` }
  }

  /** Returns the signed-in browser. */
  async function finishLogin({ browser, callback }: StartedLogin): Promise<Browser> {
    const { status } = await browser.visit(callback, { from: browser.show(portalUrl, '') })
    if (![200, 302, 303].includes(status) || browser.cookies.list().length === 0)
      throw new Error(`/exchangeToken answered ${status}`)
    return browser
  }

  async function readList(visitor: Browser): Promise<void> {
    const { status, body }: Page = await visitor.newTab().visit(`${url}/applications`)
    if (status !== 200 || !body.includes('Weather &amp; news 1')) throw new Error(`/applications answered ${status}`)
  }

  return {
    beginLogins: (count: number, listSize: number) => repeat(count, () => beginLogin(listSize)),

    finishLogins: (logins: StartedLogin[]) => repeat(logins.length, index => finishLogin(logins[index]!)),

    readLists: (count: number, visitor: Browser) => repeat(count, () => readList(visitor)),

    /**
     * Returns how many milliseconds each list took. Requests start at a steady rate, and do not wait for the answers to
     * earlier requests.
     */
    async readListsSteadily(perSecond: number, seconds: number, visitor: Browser): Promise<number[]> {
      const times: number[] = []
      const count = Math.round(perSecond * seconds)
      const startedAt = performance.now()
      const sent: Promise<void>[] = []
      while (sent.length < count) {
        const due = ((performance.now() - startedAt) / 1000) * perSecond
        while (sent.length < Math.min(due, count)) {
          const sentAt = performance.now()
          sent.push(readList(visitor).then(() => void times.push(performance.now() - sentAt)))
        }
        await new Promise(resolve => setTimeout(resolve, 1))
      }
      await Promise.all(sent)
      return times
    },

    close: () => pool.close(),
  }
}
