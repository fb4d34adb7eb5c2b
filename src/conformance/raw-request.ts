// Sends one request exactly as a check writes it. Checks use this for requests that no browser sends.
import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import type { Exchange } from './browser/browser.ts'
import { findHost } from './browser/find-host.ts'
import { isConnectionLost } from './browser/send.ts'

export interface RawRequest {
  method?: string
  headers?: Record<string, string | string[]>
  body?: string
  timeoutMs?: number
}

/**
 * Sends `url` without decoding, encoding or shortening its path. Does not throw: if the request fails, `response.fault`
 * says why.
 */
export async function sendRaw(
  url: string,
  { method = 'GET', headers = {}, body = '', timeoutMs = 20_000 }: RawRequest = {},
): Promise<Exchange> {
  const [, scheme = '', host = '', path = '/'] = /^(https?):\/\/([^/?#]+)(.*)$/s.exec(url) ?? []
  const { hostname, port } = new URL(`${scheme}://${host}`)
  const startedAt = Date.now()
  const started = performance.now()
  const response = await new Promise<Exchange['response']>(resolve => {
    const send = scheme === 'https' ? overHttps : overHttp
    const length = body === '' && method === 'GET' ? {} : { 'content-length': `${Buffer.byteLength(body)}` }
    let sent: ReturnType<typeof send>
    const fail = (error: Error) => {
      const isLate = error.name === 'AbortError'
      resolve({
        fault: isLate ? `no answer in ${timeoutMs / 1000} s` : error.message,
        isLost: isLate || isConnectionLost(error),
      })
      sent?.destroy()
    }
    try {
      sent = send({
        hostname: hostname.replace(/^\[|\]$/g, ''),
        port,
        path: path.startsWith('/') ? path : `/${path}`,
        method,
        headers: { host, ...length, ...headers },
        agent: false,
        lookup: findHost,
        signal: AbortSignal.timeout(timeoutMs),
      })
    } catch (error) {
      return fail(error as Error)
    }
    sent.on('error', fail)
    sent.on('response', answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('error', fail)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: new Headers(
            Object.entries(answer.headersDistinct).flatMap(([name, values]) =>
              name === 'set-cookie' ? [] : (values ?? []).map(value => [name, value] as [string, string]),
            ),
          ),
          setCookies: answer.headers['set-cookie'] ?? [],
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    })
    sent.end(body)
  })
  const headerTexts = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]),
  )
  return {
    request: { method, url, headers: headerTexts, body },
    response,
    startedAt,
    durationMs: performance.now() - started,
  }
}
