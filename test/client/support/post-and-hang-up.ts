// Sends a form, and closes the connection before the answer: the visitor closes the tab, or presses Stop.
import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { publicUrl } from './build-test-client.ts'
import { openSocket, rawGet } from './raw-socket.ts'
import type { TestBrowser } from './test-browser.ts'

/** Hangs up when `asked` comes back; what comes of the request then is nobody's. */
export async function postAndHangUp(
  client: FastifyInstance,
  browser: TestBrowser,
  url: string,
  form: Record<string, string>,
  asked: Promise<void>,
): Promise<void> {
  const body = new URLSearchParams(form).toString()
  const socket = await openSocket(client)
  const headers = {
    cookie: browser.cookieHeader(),
    origin: publicUrl,
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(body.length),
  }
  socket.write(rawGet(url, headers).replace('GET', 'POST') + body)
  await asked
  socket.destroy()
  await once(socket, 'close')
}
