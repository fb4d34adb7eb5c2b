// A client of forty lines, like a developer's first client: it does only what the platform requires. Do not use it as
// an example.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

export interface FortyLineSettings {
  loginUrl: string
  baseUrl: string
  ownUrl: string
  clientId: string
  clientSecret: string
}

export function fortyLineClient({ loginUrl, baseUrl, ownUrl, clientId, clientSecret }: FortyLineSettings) {
  const redirectUri = `${ownUrl}/exchangeToken`
  const own = { client_id: clientId, redirect_uri: redirectUri }
  const states = new Set<string | undefined>()

  async function exchange({ code = '', state = '' }: Record<string, string>) {
    if (!states.delete(state)) throw new Error('This state is unknown.')
    const fields = { ...own, grant_type: 'authorization_code', code, client_secret: clientSecret, state }
    const response = await fetch(`${loginUrl}/api/exchangeToken`, { method: 'POST', body: new URLSearchParams(fields) })
    const tokens = (await response.json()) as Record<string, string>
    if (tokens.state !== state) throw new Error('The portal answered for another state.')
    return tokens
  }

  async function listApplications({ token_type: type, access_token: token }: Record<string, string>) {
    const response = await fetch(`${baseUrl}/apps/v1`, { headers: { authorization: `${type} ${token}` } })
    const { ItemList } = (await response.json()) as { ItemList: { data: { name: string } }[] }
    return ItemList.map(({ data }) => `<li>${data.name}</li>`).join('')
  }

  return createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', ownUrl)
    try {
      if (pathname === '/login') {
        const state = randomUUID()
        states.add(state)
        const start = { ...own, grant_type: 'authorization', response_type: 'code', cancel_url: ownUrl, state }
        return response.writeHead(302, { location: `${loginUrl}/?${new URLSearchParams(start)}` }).end()
      }
      if (pathname !== '/exchangeToken') return response.end('<a href="/login">Sign in</a>')
      const tokens = await exchange(Object.fromEntries(searchParams))
      const cookie = `token=${tokens.access_token}; HttpOnly; Secure; SameSite=Strict; Max-Age=${tokens.expires_in}`
      const list = await listApplications(tokens)
      response.writeHead(200, { 'set-cookie': cookie }).end(`<ul>${list}</ul>`)
    } catch (error) {
      response.writeHead(500).end((error as Error).message)
    }
  })
}

// If this file is run as a command, it reads its settings from the environment.
if (import.meta.main) {
  const { LOGIN_URL, API_URL, CLIENT_URL, CLIENT_ID, CLIENT_SECRET, PORT } = process.env as Record<string, string>
  fortyLineClient({
    loginUrl: LOGIN_URL!,
    baseUrl: API_URL!,
    ownUrl: CLIENT_URL!,
    clientId: CLIENT_ID!,
    clientSecret: CLIENT_SECRET!,
  }).listen(Number(PORT), 'localhost')
}
