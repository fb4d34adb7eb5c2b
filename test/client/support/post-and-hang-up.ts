// Sends a form, and closes the connection before the answer: the visitor closes the tab, or presses Stop.
import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import { openSocket, rawPost } from '../../support/raw-socket.ts'
import type { TestBrowser } from '../../support/test-browser.ts'
import { publicUrl } from './build-test-client.ts'

/** Closes the connection when `asked` resolves. After that, errors of the request are ignored. */
export async function postAndHangUp(
  client: FastifyInstance,
  browser: TestBrowser,
  url: string,
  form: Record<string, string>,
  asked: Promise<void>,
): Promise<void> {
  const socket = await openSocket(client)
  socket.write(rawPost(url, { cookie: browser.cookieHeader(), origin: publicUrl }, form))
  await asked
  socket.destroy()
  await once(socket, 'close')
}
