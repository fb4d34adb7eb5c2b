import { right } from '../parts.ts'
import type { Visit } from '../visit.ts'
import { answerWith, fault, headersWith, memoryOf } from './fault.ts'

const cookieOf = (visit: Visit, name: string) => visit.cookies.find(([key]) => key === name)?.[1]

const keptFor = (isKept: (visit: Visit) => boolean) =>
  headersWith(visit => (isKept(visit) ? { 'cache-control': 'private' } : {}))

/** Sets one more cookie, with the name of the visitor. */
const greets = {
  keepSession(visit: Visit, tokens: Parameters<typeof right.keepSession>[1]) {
    const session = right.keepSession(visit, tokens)
    visit.setCookies.push(`__Host-who=${session.visitor}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=31536000`)
    return session
  },
  ...answerWith((answer, visit) =>
    visit.url.pathname === '/' && answer.body
      ? {
          ...answer,
          body: answer.body.replace('<h1>', `<h1>Hello ${visit.parts.html(cookieOf(visit, '__Host-who') ?? '')} `),
        }
      : answer,
  ),
}

export const nextVisitor = [
  fault('hand-over-for-whoever-comes', ['next-visitor-secret-after-sign-out', 'next-visitor-secret-other-login'], {
    isHandOverOf: () => true,
  }),
  fault('draft-for-whoever-comes', ['next-visitor-draft', 'next-visitor-draft-after-sign-out'], {
    keepDraft: visit =>
      visit.parts.setCookie(visit, '__Host-draft', visit.body, 'Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=3600'),
    draftOf(visit) {
      const draft = visit.parts.unseal(visit, '__Host-draft', cookieOf(visit, '__Host-draft') ?? '')
      return new URLSearchParams(typeof draft === 'string' ? draft : '')
    },
  }),
  fault('refused-form-for-whoever-comes', 'next-visitor-refused-form', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (request.method === 'POST' && status === 422) memoryOf(visit).set('draft', visit.body)
      return [status, answer]
    },
    draftOf: visit => new URLSearchParams((memoryOf(visit).get('draft') as string | undefined) ?? ''),
  }),
  fault('greets-who-was-here', ['next-visitor-session-ended', 'next-visitor-signed-out'], greets),
  fault(
    'form-kept-by-browsers',
    'next-visitor-form-no-store',
    keptFor(({ url }) => url.pathname === '/applications/new'),
  ),
  fault(
    'answer-to-a-form-kept-by-browsers',
    'next-visitor-refused-no-store',
    keptFor(({ method }) => method === 'POST'),
  ),
  fault(
    'secret-kept-by-browsers',
    'next-visitor-secret-no-store',
    keptFor(visit => cookieOf(visit, '__Host-made') !== undefined),
  ),
]
