// Clients that show the data of a visitor to the next person who uses the same browser.
import { randomUUID } from 'node:crypto'
import { type Behaviour, correct } from '../behaviour.ts'
import { answerWith, hashOf, headersWith } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { withNameInCookie } from '../names.ts'
import { cookieOf } from '../requests.ts'
import type { Login, Visit } from '../visit.ts'

/** On the start page, shows the name that `nameOf` returns. `keep` stores the name of a login. */
const naming = (keep: (visit: Visit, name: string) => void, nameOf: (visit: Visit) => unknown) => ({
  async exchange(visit: Visit, ...rest: [Parameters<typeof correct.exchange>[1], Login]) {
    const tokens = await correct.exchange(visit, ...rest)
    const answer = await fetch(`${visit.settings.loginUrl}/api/me`, {
      headers: { authorization: `Bearer ${tokens.accessToken}` },
    })
    const { firstName } = (await answer.json()) as { firstName?: string }
    if (firstName) keep(visit, firstName)
    return tokens
  },
  ...answerWith((answer, visit) => {
    const name = nameOf(visit)
    if (!name || !answer.body || visit.url.pathname !== '/applications') return answer
    return { ...answer, body: answer.body.replace('<h1>', `<p>Hello ${correct.html(String(name))}</p><h1>`) }
  }),
})

const keptFor = (isKept: (visit: Visit) => boolean) =>
  headersWith(visit => (isKept(visit) ? { 'cache-control': 'private' } : {}))

/** Sets one more cookie, which contains the id of the visitor. */
const greets = {
  keepSession(visit: Visit, tokens: Parameters<typeof correct.keepSession>[1]) {
    const session = correct.keepSession(visit, tokens)
    visit.setCookies.push(`__Host-who=${session.visitor}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=31536000`)
    return session
  },
  ...answerWith((answer, visit) =>
    visit.url.pathname === '/' && answer.body
      ? {
          ...answer,
          body: answer.body.replace('<h1>', `<h1>Hello ${visit.behaviour.html(cookieOf(visit, '__Host-who') ?? '')} `),
        }
      : answer,
  ),
}

const keepsDraft: Pick<Behaviour, 'keepDraft' | 'draftOf'> = {
  keepDraft: visit =>
    visit.behaviour.setCookie(
      visit,
      '__Host-draft',
      visit.body,
      'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=3600',
    ),
  draftOf(visit) {
    const draft = visit.behaviour.unseal(visit, '__Host-draft', cookieOf(visit, '__Host-draft') ?? '')
    return new URLSearchParams(typeof draft === 'string' ? draft : '')
  },
}

/**
 * Puts each refresh token into a cookie with a different name. A check that has learned the names in another login
 * therefore does not know this name.
 */
const variesRefreshCookie: Partial<Behaviour> = {
  setCookie(visit, name, value, attributes) {
    correct.setCookie(visit, name, value, attributes)
    const line = visit.setCookies.at(-1)!
    if (name === correct.refreshCookie && line.startsWith(`${name}=`))
      visit.setCookies[visit.setCookies.length - 1] =
        `${name}-${hashOf(`${value}`).slice(0, 8)}${line.slice(name.length)}`
  },
  readRefresh: visit =>
    visit.cookies
      .filter(([name]) => name.startsWith(`${correct.refreshCookie}-`))
      .map(([, text]) => visit.behaviour.unseal(visit, correct.refreshCookie, text))
      .find(value => typeof value === 'string'),
}

/** Shows the text that `textOf` returns on the list of applications. */
const showsOnList = (textOf: (visit: Visit) => unknown) =>
  answerWith((answer, visit) => {
    if (visit.url.pathname !== '/applications' || answer.status !== 200 || !answer.body) return answer
    const text = textOf(visit)
    return text
      ? { ...answer, body: answer.body.replace('<ul>', `<p>${visit.behaviour.html(`${text}`)}</p><ul>`) }
      : answer
  })

export const nextVisitor: Mistake[] = [
  mistake('hand-over-for-whoever-comes', ['next-visitor-secret-after-sign-out', 'next-visitor-secret-other-login'], {
    isHandOverOf: () => true,
  }),
  mistake('message-for-the-next-visitor', ['next-visitor-secret-after-sign-out', 'next-visitor-secret-other-login'], {
    created(visit, ...rest) {
      const name = encodeURIComponent(new URLSearchParams(visit.body).get('name') ?? '')
      visit.setCookies.push(`__Host-message=${name}; Path=/; Secure; HttpOnly; Max-Age=60`)
      return correct.created(visit, ...rest)
    },
    ...answerWith((answer, visit) => {
      const made = cookieOf(visit, '__Host-message')
      if (!made || answer.status !== 200 || visit.url.pathname !== '/applications') return answer
      visit.setCookies.push('__Host-message=; Path=/; Secure; HttpOnly; Max-Age=0')
      return { ...answer, body: `${answer.body}<p>Created ${correct.html(decodeURIComponent(made))}</p>` }
    }),
  }),
  mistake('secret-in-the-memory-of-the-server', 'next-visitor-secret-elsewhere', {
    created(visit, text) {
      visit.memory.set('made', text)
      return { status: 303, headers: { location: '/applications' } }
    },
    ...answerWith((answer, visit) => {
      const made = visit.memory.get('made')
      if (!made || visit.method !== 'GET' || visit.url.pathname !== '/applications' || answer.status !== 200)
        return answer
      visit.memory.delete('made')
      return { ...answer, body: `${answer.body}<p>${visit.behaviour.html(`${made}`)}</p>` }
    }),
  }),
  mistake('secret-at-an-address-for-everybody', ['next-visitor-secret-elsewhere', 'next-visitor-new-secret'], {
    created(visit, text) {
      const id = randomUUID()
      visit.memory.set(id, text)
      return { status: 303, headers: { location: `/applications?made=${id}` } }
    },
    ...showsOnList(visit => visit.memory.get(visit.query.get('made') ?? '')),
  }),
  mistake('new-secret-shown-to-the-next-visitor', 'next-visitor-new-secret', {
    created(visit, text, visitor) {
      if (!visit.url.pathname.endsWith('/secret')) return correct.created(visit, text, visitor)
      visit.memory.set('new secret', text)
      return { status: 303, headers: { location: '/applications' } }
    },
    ...showsOnList(visit => {
      const text = visit.memory.get('new secret')
      visit.memory.delete('new secret')
      return text
    }),
  }),
  mistake('draft-for-whoever-comes', ['next-visitor-draft', 'next-visitor-draft-after-sign-out'], keepsDraft),
  mistake('draft-and-a-refresh-cookie-with-a-varying-name', 'next-visitor-draft', {
    ...keepsDraft,
    ...variesRefreshCookie,
  }),
  mistake('draft-in-the-memory-of-the-server', 'next-visitor-draft', {
    keepDraft: visit => void visit.memory.set('draft', visit.body),
    draftOf: visit => new URLSearchParams((visit.memory.get('draft') as string | undefined) ?? ''),
  }),
  mistake('refused-form-for-whoever-comes', 'next-visitor-refused-form', {
    async send(visit, request) {
      const [status, answer] = await correct.send(visit, request)
      if (request.method === 'POST' && status === 422) visit.memory.set('draft', visit.body)
      return [status, answer]
    },
    draftOf: visit => new URLSearchParams((visit.memory.get('draft') as string | undefined) ?? ''),
  }),
  ...[403, 500].map(kind =>
    mistake(`form-refused-with-${kind}-for-whoever-comes`, 'next-visitor-refused-form', {
      async send(visit, request) {
        const [status, answer] = await correct.send(visit, request)
        if (request.method === 'POST' && status === kind) visit.memory.set('draft', visit.body)
        return [status, answer]
      },
      draftOf: visit => new URLSearchParams((visit.memory.get('draft') as string | undefined) ?? ''),
    }),
  ),
  ...(['name', 'redirectUris'] as const).map(field =>
    mistake(
      `form-with-a-wrong-${field}-for-whoever-comes`,
      field === 'name' ? 'next-visitor-empty-name' : 'next-visitor-wrong-address',
      {
        formOf(visit, body) {
          const value = new URLSearchParams(body).get(field)
          if (value === '' || value === 'x') visit.memory.set('draft', body)
          return body
        },
        draftOf: visit => new URLSearchParams((visit.memory.get('draft') as string | undefined) ?? ''),
      },
    ),
  ),
  mistake('greets-who-was-here', ['next-visitor-session-ended', 'next-visitor-signed-out'], greets),
  mistake('greets-by-the-first-name', ['next-visitor-session-ended', 'next-visitor-signed-out'], {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const response = await fetch(`${visit.settings.loginUrl}/api/me`, {
        headers: { authorization: `Bearer ${tokens.accessToken}` },
      })
      const { firstName } = (await response.json()) as { firstName: string }
      visit.setCookies.push(`__Host-who=${firstName}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=31536000`)
      return tokens
    },
    ...answerWith((answer, visit) =>
      visit.url.pathname === '/' && answer.body
        ? { ...answer, body: `${answer.body}<p>Hello ${visit.behaviour.html(cookieOf(visit, '__Host-who') ?? '')}</p>` }
        : answer,
    ),
  }),
  mistake(
    'name-stays-for-the-next-visitor',
    'next-visitor-without-name',
    withNameInCookie((_, ask) => ask().catch(() => undefined)),
  ),
  mistake(
    'name-in-a-variable',
    'next-visitor-name-elsewhere',
    naming(
      (visit, name) => visit.memory.set('name', name),
      visit => visit.memory.get('name'),
    ),
  ),
  mistake(
    'name-asked-only-once-for-all',
    'next-visitor-name-elsewhere',
    naming(
      (visit, name) => visit.memory.has('name') || visit.memory.set('name', name),
      visit => correct.readSession(visit) && visit.memory.get('name'),
    ),
  ),
  mistake(
    'form-kept-by-browsers',
    'next-visitor-form-no-store',
    keptFor(({ url }) => url.pathname === '/applications/new'),
  ),
  mistake(
    'answer-to-a-form-kept-by-browsers',
    'next-visitor-refused-no-store',
    keptFor(({ method }) => method === 'POST'),
  ),
  mistake(
    'secret-kept-by-browsers',
    'next-visitor-secret-no-store',
    keptFor(visit => cookieOf(visit, '__Host-made') !== undefined),
  ),
]
