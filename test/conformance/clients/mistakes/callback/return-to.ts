// Clients that lead the visitor to a wrong or dangerous page after the login.
import { decodeSafely } from '../../../../../src/conformance/steps/set-cookies.ts'
import { correct } from '../../behaviour.ts'
import { answerWith, beginsAtPage } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { goOn, page } from '../../pages.ts'
import { isCallback } from '../../requests.ts'
import type { Visit } from '../../visit.ts'

const backTo = (name: string, checks: string | string[], allows: (text: string, visit: Visit) => boolean) =>
  mistake(`return-to-${name}`, checks, {
    localPath: (text, visit) => (text && allows(text, visit) ? text : '/applications'),
  })

/** Checks the return address with the pattern of the correct client, but does not encode the markup in it. */
const unencoded = (text: string | null) =>
  text && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,200}$/.test(text) ? text : '/applications'

/** The return address of the last login that began. */
let lastReturn = '/'

const backOnThisHost = mistake('return-to-any-port-of-the-host', 'return-to-other-port', {
  localPath(text, visit) {
    const isOwn = URL.parse(text ?? '')?.hostname === new URL(visit.settings.publicUrl).hostname
    return text && isOwn ? text : correct.localPath(text, visit)
  },
})

export const returnTo: Mistake[] = [
  mistake('return-to-forgotten', 'return-to-works', { localPath: () => '/applications' }),
  mistake('return-to-in-a-cookie-as-it-came', 'return-to-no-header', {
    afterStart(visit, answer) {
      visit.setCookies.push(`return-to=${visit.query.get('returnTo') ?? '/'}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      return answer
    },
  }),
  mistake('return-to-matched-before-a-final-line-break', 'return-to-final-newline', {
    localPath: (text, visit) => (text && /^\/[\w/]*\n?$/.test(text) ? text : correct.localPath(text, visit)),
    afterLogin(visit, login) {
      if (/[\r\n]/.test(login.returnTo)) throw new TypeError('Header values cannot contain line breaks')
      return correct.afterLogin(visit, login)
    },
  }),
  backTo('of-any-length', ['return-to-long', 'logins-bounded-with-return-address'], text =>
    /^\/(?!\/)[\w/?=-]*$/.test(text),
  ),
  mistake('return-address-of-up-to-3500-characters', 'return-to-long', {
    localPath: (text, visit) =>
      text && /^\/[\w/?=&-]{1,3500}$/.test(text) && !text.startsWith('//') ? text : correct.localPath(text, visit),
  }),
  mistake(
    'login-begun-at-a-page-keeps-an-address-of-any-length',
    'return-to-long-path-of-page',
    beginsAtPage(() => ({})),
  ),
  mistake('return-address-as-markup', 'return-to-escapes', {
    localPath: unencoded,
    afterLogin(visit, { returnTo }) {
      const answer = page(visit, 200, 'One moment', `<a href="${returnTo}">Continue</a>`)
      answer.body = answer.body!.replace('<title>', `<meta http-equiv="refresh" content="0;url=${returnTo}"><title>`)
      answer.headers!['referrer-policy'] = 'no-referrer'
      return answer
    },
  }),
  mistake(
    'return-address-as-markup-after-a-failure',
    'return-to-escapes',
    answerWith((answer, visit) => {
      if (visit.url.pathname === '/login' && answer.status === 302) lastReturn = visit.query.get('returnTo') ?? '/'
      return isCallback(visit) && answer.status === 400
        ? { ...answer, body: `${answer.body}<a href='/login?returnTo=${unencoded(lastReturn)}'>Again</a>` }
        : answer
    }),
  ),
  mistake(
    'return-to-forgotten-after-a-failure',
    ['declined', 'declined-bare', 'error', 'failed-exchange'].map(id => `return-after-${id}`),
    { signInLink: () => '/login' },
  ),
  mistake(
    'return-to-in-a-link-without-encoding',
    ['declined', 'declined-bare', 'error', 'failed-exchange'].map(id => `return-after-${id}`),
    { signInLink: visit => decodeURIComponent(correct.signInLink(visit)) },
  ),
  mistake('return-to-forgotten-without-a-state', 'return-after-declined-bare', {
    signInLink: visit => (visit.query.has('state') ? correct.signInLink(visit) : '/login'),
  }),
  backTo(
    'anywhere',
    [
      'absolute',
      'two-slashes',
      'three-slashes',
      'backslash',
      'two-backslashes',
      'tab',
      'newline',
      'space',
      'scheme-only',
      'user-info',
      'script',
      'data',
      'own-origin-in-query',
      'backslash-slash',
      'slash-backslash',
      'script-upper-case',
      'script-after-space',
    ].map(id => `return-to-${id}`),
    () => true,
  ),
  mistake('return-to-anywhere-after-five-seconds', ['return-to-absolute', 'return-to-two-slashes'], {
    localPath: text => text ?? '/applications',
    afterLogin: (visit, { returnTo }) => goOn(visit, returnTo, 5),
  }),
  mistake('return-address-with-an-upper-case-scheme-accepted', 'return-to-upper-case-scheme', {
    localPath: (text, visit) =>
      text && !/^(https?:|javascript:|data:|\W)/.test(text) ? text : correct.localPath(text, visit),
  }),
  backTo('two-slashes', 'return-to-two-slashes', text => text.startsWith('/')),
  backTo('backslash', 'return-to-backslash', text => /^\/(?!\/)/.test(text)),
  backTo('tab', 'return-to-tab', text => /^\/(?![/\\])/.test(text)),
  mistake(
    'return-to-decoded-after-the-check',
    ['return-to-encoded-slash', 'return-to-encoded-backslash', 'return-to-encoded-tab'],
    {
      localPath: (text, visit) =>
        text && /^\/(?![/\\])/.test(text) ? decodeURIComponent(text) : correct.localPath(text, visit),
    },
  ),
  mistake('return-to-path-after-parsing', ['return-to-dots', 'return-to-dot', 'return-to-above'], {
    localPath: (text, { settings }) => {
      const url = text ? URL.parse(text, settings.publicUrl) : null
      return url?.origin === settings.publicUrl ? url.pathname + url.search : '/applications'
    },
  }),
  mistake('return-to-normalised-after-the-check', 'return-to-full-width', {
    localPath: (text, visit) =>
      text && /^\/(?![/\\])/.test(text) ? text.normalize('NFKC') : correct.localPath(text, visit),
  }),
  backTo(
    'name-of-the-host',
    'return-to-user-info',
    (text, { settings }) => text.includes(new URL(settings.publicUrl).hostname) || /^\/\w/.test(text),
  ),
  backTo(
    'beginning-of-the-origin',
    'return-to-own-origin-as-user',
    (text, { settings }) => text.startsWith(settings.publicUrl) || /^\/\w/.test(text),
  ),
  mistake('return-to-glued-to-the-origin', 'return-to-at', {
    localPath: (text, { settings }) => settings.publicUrl + (text ?? '/applications'),
  }),
  mistake('return-to-decoded-twice', ['return-to-encoded-twice', 'return-to-encoded-slashes'], {
    localPath(text, visit) {
      const plain = decodeURIComponent(decodeURIComponent(text ?? ''))
      return text && !/^(\w+:|\/\/|\/?\\)/.test(text) ? plain : correct.localPath(text, visit)
    },
  }),
  backOnThisHost,
  mistake('signed-in-visitor-sent-anywhere', 'return-to-signed-in', {
    afterStart(visit, answer) {
      const to = visit.query.get('returnTo') ?? ''
      const isAnswerable = /^[\x20-\x7e]+$/.test(to)
      return correct.readSession(visit) && isAnswerable ? { status: 302, headers: { location: to } } : answer
    },
  }),
  mistake('last-return-address-kept', 'return-to-twice', {
    localPath: (text, visit) =>
      visit.query.getAll('returnTo').length > 1
        ? visit.query.getAll('returnTo').at(-1)!
        : correct.localPath(text, visit),
  }),
  mistake('return-address-in-next-not-checked', 'return-to-unnamed', {
    afterStart(visit, answer) {
      visit.memory.set('next', visit.query.get('next'))
      return answer
    },
    afterLogin(visit, login) {
      const next = visit.memory.get('next')
      return next ? { status: 302, headers: { location: String(next) } } : correct.afterLogin(visit, login)
    },
  }),
  mistake('start-page-redirects-to-the-from-parameter', 'no-open-redirect', {
    aroundRequest: async ({ url, query }, next) =>
      url.pathname === '/' && query.has('from') ? { status: 302, headers: { location: query.get('from')! } } : next(),
  }),
  mistake('login-path-redirects-signed-in-visitors-to-the-next-parameter', 'no-open-redirect', {
    aroundRequest: async (visit, next) =>
      visit.url.pathname === '/login' && visit.query.has('next') && correct.readSession(visit)
        ? { status: 302, headers: { location: visit.query.get('next')! } }
        : next(),
  }),
  mistake('return-address-in-a-plain-cookie', 'return-to-planted', {
    afterStart(visit, answer) {
      const path = encodeURIComponent(correct.localPath(visit.query.get('returnTo'), visit))
      visit.setCookies.push(`next=${path}; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=600`)
      return answer
    },
    afterLogin(visit, login) {
      const [, next] = visit.cookies.find(([name]) => name === 'next') ?? []
      return correct.afterLogin(visit, { ...login, returnTo: decodeSafely(next ?? '/applications') })
    },
  }),
  mistake('return-to-the-referer', 'return-to-referer', {
    localPath: (text, visit) => (text === null && visit.headers.referer) || correct.localPath(text, visit),
  }),
  mistake('return-address-parsed-without-care', 'return-to-odd', {
    localPath(text, visit) {
      if (text?.startsWith('http')) new URL(text)
      return correct.localPath(text, visit)
    },
  }),
  mistake('return-address-with-any-letter', 'return-to-odd', {
    localPath: (text, visit) =>
      text && /^\/[\w\u0080-\u{1ffff}]+$/u.test(text) ? text : correct.localPath(text, visit),
    afterLogin: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  mistake('any-address-begins-a-login', 'return-to-path-of-page', {
    localPath: (text, visit) => visit.query.get('page') ?? correct.localPath(text, visit),
    ...answerWith((answer, visit) =>
      answer.status === 404 && visit.method === 'GET' && !correct.readSession(visit)
        ? { status: 302, headers: { location: `/login?page=${encodeURIComponent(visit.target)}` } }
        : answer,
    ),
  }),
  mistake('failed-login-links-anywhere', 'return-to-after-failure', {
    startQuery(visit, state, verifier) {
      visit.memory.set(`wanted ${state}`, visit.query.get('returnTo'))
      return correct.startQuery(visit, state, verifier)
    },
    signInLink: visit =>
      (visit.memory.get(`wanted ${visit.query.get('state')}`) as string | null | undefined) ??
      correct.signInLink(visit),
  }),
]
