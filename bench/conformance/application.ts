// The code that both clients share: settings, pages and the API call. This code is correct. So if a check fails, the
// cause is the library, or something that the library's manual leaves to the application.
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'

const { LOGIN_URL, API_URL, CLIENT_ID, CLIENT_SECRET, CLIENT_URL, REDIRECT_URI, PORT, COOKIE_KEYS } =
  process.env as Record<string, string>

/** The settings that `npm run conformance` passes to the client. `sessionKey` is 32 bytes in base64url. */
export const settings = {
  loginUrl: LOGIN_URL!,
  apiUrl: API_URL!,
  clientId: CLIENT_ID!,
  clientSecret: CLIENT_SECRET!,
  redirectUri: REDIRECT_URI!,
  cancelUrl: `${CLIENT_URL}/`,
  sessionKey: COOKIE_KEYS!,
}

const mostBytes = 8 * 1024 * 1024

export function buildApplication(): FastifyInstance {
  const app = fastify()
  app.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'",
      'referrer-policy': 'strict-origin-when-cross-origin',
      'x-content-type-options': 'nosniff',
    })
  })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  )
  app.setErrorHandler(({ statusCode = 502 }: { statusCode?: number }, _request, reply) =>
    show(reply.code(statusCode), 'Something went wrong', '<p><a href="/login">Sign in again</a></p>'),
  )
  app.get('/', (_request, reply) => show(reply, 'Applications', '<p><a href="/login">Sign in</a></p>'))
  return app
}

export const listen = (app: FastifyInstance) => app.listen({ host: 'localhost', port: Number(PORT) })

/**
 * The status is 400 if the library refuses the callback, and 401 if the API refuses the token. The page does not repeat
 * the message of the library or the API.
 */
export const showRefusal = (reply: FastifyReply, status: 400 | 401) =>
  show(reply.code(status), 'You are not signed in', '<p><a href="/login">Sign in again</a></p>')

/**
 * Returns the list, or undefined if the API no longer accepts the token. Throws an error if the status is neither 200
 * nor 401.
 */
export async function readList(accessToken: string): Promise<string[] | undefined> {
  const response = await fetch(`${settings.apiUrl}/apps/v1`, {
    headers: { authorization: `Bearer ${accessToken}` },
    redirect: 'error',
    signal: AbortSignal.timeout(5000),
  })
  if (response.status === 401) return undefined
  if (response.status !== 200) throw new Error(`The API answered ${response.status}.`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > mostBytes) throw new Error('The list is too long.')
    chunks.push(chunk)
  }
  const { ItemList } = JSON.parse(Buffer.concat(chunks).toString()) as { ItemList: { data: { name: string } }[] }
  return ItemList.map(({ data }) => `${data.name}`)
}

export function showList(reply: FastifyReply, names: string[]): FastifyReply {
  const items = names.map(name => `<li>${escapeHtml(name)}</li>`).join('')
  return show(
    reply,
    'Your applications',
    `<ul>${items}</ul><form method="post" action="/logout"><button>Sign out</button>`,
  )
}

function show(reply: FastifyReply, title: string, content: string): FastifyReply {
  const page = `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>${content}</html>`
  return reply.type('text/html; charset=utf-8').send(page)
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
