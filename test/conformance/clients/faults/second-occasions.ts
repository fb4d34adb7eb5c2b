// Clients that follow a rule in the usual case, but not in another case: for another method, on another page, at
// another instance, or when a token has expired.
import type { Parts } from '../parts.ts'
import { right } from '../parts.ts'
import type { Call } from '../platform.ts'
import { PlatformFault, type Tokens, type Visit } from '../visit.ts'
import { answerWith, fault, memoryOf } from './fault.ts'
import { metadataReader } from './metadata.ts'

const isDetails = ({ method, url }: Call) => method === 'GET' && /\/apps\/v1\/[^/]+$/.test(url)
const isGroups = ({ url }: Call) => url.includes('/identities/')
const isList = ({ method, url }: Call) => method === 'GET' && url.endsWith('/apps/v1')
type Send = () => Promise<[number, unknown]>

/** Uses the function `act` for the calls that `isMet` selects. */
function sendWith(
  isMet: (call: Call) => boolean,
  act: (visit: Visit, call: Call, send: Send) => Promise<[number, unknown]>,
): Partial<Parts> {
  return {
    send(visit, call) {
      const send = () => right.send(visit, call)
      return isMet(call) ? act(visit, call, send) : send()
    },
  }
}

/** Caches the answers to the calls that `isMet` selects, and uses them for all visitors. */
function remembering(isMet: (call: Call) => boolean, keyOf: (call: Call) => string): Partial<Parts> {
  return sendWith(isMet, async (visit, call, send) => {
    const memory = memoryOf(visit)
    const known = memory.get(keyOf(call)) as [number, unknown] | undefined
    if (known) return known
    const answer = await send()
    if (answer[0] === 200) memory.set(keyOf(call), answer)
    return answer
  })
}

/**
 * Makes a client that shows the name of the visitor on the page with the list. `read` returns the name after an
 * exchange.
 */
function withName(read: (visit: Visit, ask: () => Promise<string>) => Promise<string | undefined>): Partial<Parts> {
  const cookie = '__Host-name'
  return {
    async exchange(visit, callback, login) {
      const tokens = await right.exchange(visit, callback, login)
      const ask = async () => {
        const answer = await fetch(`${visit.settings.loginUrl}/api/me`, {
          headers: { authorization: `Bearer ${tokens.accessToken}` },
          redirect: 'manual',
          signal: AbortSignal.timeout(1000),
        })
        if (answer.status !== 200) throw new PlatformFault(answer.status)
        return String(((await answer.json()) as { firstName?: unknown }).firstName)
      }
      const name = await read(visit, ask)
      if (name !== undefined)
        visit.setCookies.push(
          `${cookie}=${right.seal(visit, cookie, name)}; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age=86400`,
        )
      return tokens
    },
    async around(visit, next) {
      const answer = await next()
      const sealed = visit.cookies.find(([name]) => name === cookie)?.[1]
      const name = sealed && right.unseal(visit, cookie, sealed)
      if (!name || !answer.body || visit.url.pathname !== '/applications') return answer
      return { ...answer, body: answer.body.replace('<h1>', `<p>${right.html(String(name))}</p><h1>`) }
    },
  }
}

export const secondOccasions = [
  fault('sign-out-looks-only-at-the-session', ['logout-expired-revokes', 'logout-expired-ends'], {
    tokenToRevoke: visit => (right.readSession(visit) ? right.tokenToRevoke(visit) : undefined),
    endSession: visit => void (right.readSession(visit) && right.dropSession(visit)),
  }),
  fault('sign-out-by-head', 'logout-not-by-head', { signOutMethods: ['POST', 'HEAD'] }),
  fault('login-start-ends-the-session', 'login-start-keeps-session', {
    afterStart(visit, answer) {
      right.dropSession(visit)
      return answer
    },
  }),
  fault('only-the-instance-of-the-login-revokes', 'replica-sign-out-revokes', {
    keepSession(visit, tokens: Tokens) {
      memoryOf(visit).set(`own ${tokens.refreshToken}`, true)
      return right.keepSession(visit, tokens)
    },
    tokenToRevoke(visit) {
      const token = right.tokenToRevoke(visit)
      return memoryOf(visit).has(`own ${token}`) ? token : undefined
    },
  }),
  fault('sign-out-deletes-all-cookies-of-the-domain', 'logout-foreign-cookies', {
    endSession(visit) {
      right.endSession(visit)
      const { hostname } = new URL(visit.settings.publicUrl)
      for (const [name] of visit.cookies)
        if (name && !name.startsWith('__Host-'))
          visit.setCookies.push(`${name}=; Domain=${hostname}; Path=/; Max-Age=0`)
    },
  }),
  fault('signed-in-again-by-the-form', 'logout-not-silent', {
    askToSignIn: visit => right.askToSignIn(visit.url.pathname === '/applications' ? visit : { ...visit, cookies: [] }),
  }),
  fault('portal-sign-out-always-linked', 'metadata-no-sign-out-link', {
    ...metadataReader,
    signedOut: ({ settings }) => ({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: `<!doctype html><html lang="en"><title>Signed out</title><a href="${settings.loginUrl}/sign-out">Portal</a></html>`,
    }),
  }),
  fault('renewal-joined-by-hand', 'refresh-token-encoded', {
    encode: form =>
      form.get('grant_type') === 'refresh_token'
        ? [...form].map(([name, value]) => `${name}=${value}`).join('&')
        : form.toString(),
  }),
  fault('no-renewal-for-a-form', 'refresh-for-form', {
    readRefresh: visit =>
      visit.method === 'POST' && visit.url.pathname !== '/logout' ? undefined : right.readRefresh(visit),
  }),
  fault('renewals-shared-by-page', 'refresh-single-flight', {
    once: (visit, name, act) =>
      right.once(visit, name.startsWith('renew') ? `${name} ${visit.url.pathname}` : name, act),
  }),
  fault('margin-of-one-minute', 'refresh-short-tokens', {
    readSession(visit) {
      const session = right.readSession(visit)
      return session && (session.expiresAt - Date.now() > 60_000 || !right.readRefresh(visit)) ? session : undefined
    },
  }),
  fault('renewal-after-401-extends-the-login', 'refresh-fixed-end', {
    loginEnd: visit =>
      right.readSession(visit) ? Date.now() + visit.parts.refreshSeconds * 1000 : right.loginEnd(visit),
  }),
  fault(
    'name-asked-again-after-a-failure',
    'name-asked-once',
    withName((_, ask) =>
      ask()
        .catch(ask)
        .catch(() => undefined),
    ),
  ),
  fault(
    'name-stays-for-the-next-visitor',
    'next-visitor-without-name',
    withName((_, ask) => ask().catch(() => undefined)),
  ),
  fault('refresh-token-of-the-earlier-visitor-kept', 'tabs-other-visitor-without-refresh-token', {
    keepSession(visit, tokens: Tokens) {
      const session = right.keepSession(visit, tokens)
      if (!tokens.refreshToken) visit.setCookies = visit.setCookies.filter(line => !line.startsWith('__Host-refresh=;'))
      return session
    },
  }),
  fault(
    'applications-remembered-for-all',
    ['tabs-other-visitors-pages', 'other-visitors-data'],
    remembering(isDetails, ({ url }) => url),
  ),
  fault(
    'groups-remembered-for-all',
    'tabs-other-visitors-pages',
    remembering(isGroups, () => 'groups'),
  ),
  fault('new-secret-in-one-instance', 'replica-secret', {
    created(visit, text, visitor) {
      memoryOf(visit).set(`made ${visitor}`, text)
      return { status: 303, headers: { location: '/applications' } }
    },
    async around(visit, next) {
      const answer = await next()
      const key = `made ${right.readSession(visit)?.visitor}`
      const text = memoryOf(visit).get(key)
      if (!text || visit.url.pathname !== '/applications' || answer.status !== 200) return answer
      memoryOf(visit).delete(key)
      return { ...answer, body: answer.body!.replace('<ul>', `<p role="status">${right.html(String(text))}</p><ul>`) }
    },
  }),
  fault('timeout-ends-the-session', 'list-never', {
    async around(visit, next) {
      const answer = await next()
      if (answer.status === 504) right.dropSession(visit)
      return answer
    },
  }),
  fault(
    'list-repeated-once-after-429',
    'list-429-not-repeated',
    sendWith(isList, async (_visit, _call, send) => {
      const answer = await send()
      return answer[0] === 429 ? send() : answer
    }),
  ),
  fault(
    'redirect-for-a-new-secret-followed',
    'every-call-redirect',
    sendWith(
      ({ url }) => url.endsWith('/refreshSecret'),
      (visit, call) => right.send({ ...visit, parts: { ...visit.parts, redirects: 'follow' } }, call),
    ),
  ),
  fault(
    'two-calls-for-one-application',
    'calls-after-expiry',
    sendWith(isDetails, async (_visit, _call, send) => {
      await send()
      return send()
    }),
  ),
  fault(
    'three-calls-for-one-application',
    'calls-of-a-page',
    sendWith(isDetails, async (_visit, _call, send) => {
      await send()
      await send()
      return send()
    }),
  ),
  fault('form-of-an-expired-session-carried-out', 'time-form-ends-at-server', {
    readSession(visit) {
      if (visit.method !== 'POST') return right.readSession(visit)
      const [sealed] = visit.cookies.flatMap(([name, text]) => (name === right.sessionCookie ? [text] : []))
      return sealed === undefined
        ? undefined
        : (right.unseal(visit, right.sessionCookie, sealed) as ReturnType<typeof right.readSession>)
    },
  }),
  fault('failed-form-forgotten', 'create-once-after-failure', {
    async once(visit, name, act) {
      if (!name.startsWith('create ')) return right.once(visit, name, act)
      const known = visit.memory.get(name)
      if (known) return known as ReturnType<typeof act>
      const begun = act()
      visit.memory.set(name, begun)
      begun.catch(() => visit.memory.delete(name))
      return begun
    },
  }),
  fault('token-of-the-browser-at-the-api', 'api-call-own-headers', {
    send: (visit, call) =>
      right.send(visit, {
        ...call,
        headers: {
          ...call.headers,
          ...(visit.headers.authorization?.startsWith('Bearer ') && { authorization: visit.headers.authorization }),
        },
      }),
  }),
  fault(
    'name-of-a-new-application-logged',
    'log-forms',
    answerWith((answer, visit) => {
      const name = new URLSearchParams(visit.body).get('name')
      if (name && answer.status === 303) visit.settings.print(JSON.stringify({ message: `created ${name}` }))
      return answer
    }),
  ),
]
