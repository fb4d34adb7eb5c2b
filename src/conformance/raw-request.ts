// Sends one request exactly as a check writes it. Checks use this for requests that no browser sends.
import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import type { HttpExchange } from './browser/browser.ts'
import { findHost } from './browser/find-host.ts'
import { isConnectionBroken, largestBody } from './browser/send.ts'
import { addressOf } from './http-address.ts'

/** A server may refuse a body of this length, in characters, before it has read the body. */
const longBody = 64 * 1024
/** How long the suite waits for such a refusal before it sends the body, in milliseconds. */
const refusalMs = 200

export interface RawRequest {
  method?: string
  headers?: Record<string, string | string[]>
  body?: string
  timeoutMs?: number
}

/**
 * Sends `url` without decoding, encoding or shortening its path. Does not throw: if the request fails, `response.error`
 * says why.
 */
export async function sendRaw(
  url: string,
  { method = 'GET', headers = {}, body = '', timeoutMs = 20_000 }: RawRequest = {},
): Promise<HttpExchange> {
  const [, scheme = '', host = '', path = '/'] = /^(https?):\/\/([^/?#]+)(.*)$/s.exec(url) ?? []
  const startedAt = Date.now()
  const started = performance.now()
  const response = await new Promise<HttpExchange['response']>(resolve => {
    const send = scheme === 'https' ? overHttps : overHttp
    const length = body === '' && method === 'GET' ? {} : { 'content-length': `${Buffer.byteLength(body)}` }
    let sent: ReturnType<typeof send>
    const fail = (error: Error) => {
      if (error.name === 'AbortError') resolve({ error: `no answer in ${timeoutMs / 1000} s`, loss: 'late' })
      else resolve({ error: error.message, ...(isConnectionBroken(error) && { loss: 'broken' }) })
      sent?.destroy()
    }
    try {
      sent = send({
        ...addressOf(`${scheme}://${host}`),
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
    let timer: NodeJS.Timeout | undefined
    sent.on('error', error => {
      clearTimeout(timer)
      fail(error)
    })
    sent.on('response', answer => {
      clearTimeout(timer)
      const chunks: Buffer[] = []
      let size = 0
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > largestBody) fail(new Error(`the answer is larger than ${largestBody} bytes`))
        else chunks.push(chunk)
      })
      answer.on('error', fail)
      answer.on('end', () => {
        // The server has answered before it got the body.
        if (!sent.writableEnded) sent.destroy()
        resolve({
          status: answer.statusCode ?? 0,
          headers: new Headers(
            Object.entries(answer.headersDistinct).flatMap(([name, values]) =>
              name === 'set-cookie' ? [] : (values ?? []).map(value => [name, value] as [string, string]),
            ),
          ),
          setCookies: answer.headers['set-cookie'] ?? [],
          body: Buffer.concat(chunks).toString('utf8'),
        })
      })
    })
    if (body.length <= longBody) return void sent.end(body)
    // A server may refuse a long body as soon as it has read the headers, and then close the connection. If the suite
    // were still sending the body, the connection would be reset, and the answer would be lost.
    sent.flushHeaders()
    sent.once('socket', socket =>
      socket.once(scheme === 'https' ? 'secureConnect' : 'connect', () => {
        timer = setTimeout(() => sent.end(body), refusalMs)
      }),
    )
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
