// Clients that mishandle missing, repeated, odd or unknown parameters of a callback.
import { timingSafeEqual } from 'node:crypto'
import { type Behaviour, correct } from '../../behaviour.ts'
import { allowedHostsOnly, answerWith, bodyWith, exchangeWith, hostOf, loginsOf, toHttps } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { goOn, page } from '../../pages.ts'
import { isCallback } from '../../requests.ts'
import { Refusal, type Session, type Visit } from '../../visit.ts'

/** Comparisons that accept a value even if only part of it is right. */
const looseComparisons: Record<string, (sent: string, own: string) => boolean> = {
  'beginning-compared': (sent, own) => sent.startsWith(own),
  'beginning-enough': (sent, own) => sent !== '' && own.startsWith(sent),
  'part-enough': (sent, own) => sent !== '' && own.includes(sent),
}

const repeated = [
  'callback-code-twice',
  'callback-client-id-twice',
  'callback-subject-twice',
  'callback-redirect-uri-twice',
  'callback-iss-twice',
]

/** In many languages, `$` in a pattern also matches before a line break at the end of the text. */
const withoutFinalLineBreak = (text: string) => text.replace(/\n$/, '')

/** Reads the callback without checking the code. */
const readUnchecked: Behaviour['readCallback'] = ({ query, behaviour }) => ({
  code: behaviour.singleParameter(query, 'code'),
  subject: behaviour.singleParameter(query, 'subject'),
  state: behaviour.singleParameter(query, 'state'),
  redirectUri: behaviour.singleParameter(query, 'redirect_uri'),
})

/** Compares this parameter without its final line break. */
const comparedWithoutFinalLineBreak = (name: 'client_id' | 'iss'): Partial<Behaviour> => ({
  checkClient(visit) {
    const query = new URLSearchParams(visit.query)
    const value = query.get(name)
    if (value !== null) query.set(name, withoutFinalLineBreak(value))
    correct.checkClient({ ...visit, query })
  },
})

/** Clients that throw an error for some queries, keyed by the id of the check without `callback-`. */
const crashes: Record<string, (visit: Visit) => void> = {
  nothing({ query }) {
    if (!query.has('state')) throw new TypeError("Cannot read properties of null (reading 'length')")
  },
  'bad-escapes': ({ url }) => void decodeURIComponent(url.search),
  'no-utf8': ({ url }) => void decodeURIComponent(url.search),
  'null-byte'({ query }) {
    if (query.get('code')?.includes('\0')) throw new TypeError('must be a string without null bytes')
  },
  prototype({ query }) {
    const fields: Record<string, Record<string, string>> = {}
    for (const [name, value] of query) {
      const [, outer, inner] = /^(\w+)\[(\w+)\]/.exec(name) ?? []
      if (!outer || !inner) continue
      // If `outer` is the name of a property that every object has, such as `constructor`, such code crashes.
      if (!Object.hasOwn(fields, outer) && fields[outer]) throw new TypeError('fields[outer].push is not a function')
      fields[outer] = { ...fields[outer], [inner]: value }
    }
  },
  nested({ query }) {
    if ([...query.keys()].some(name => name.startsWith('code['))) throw new TypeError('code.trim is not a function')
  },
  many({ query }) {
    if (query.size > 500) throw new RangeError('too many parameters')
  },
  long({ url }) {
    if (url.search.length > 8192) throw new RangeError('too long')
  },
}

export const callbackParameters: Mistake[] = [
  mistake('duplicates-taken', 'callback-code-twice', {
    singleParameter: (query, name) => query.getAll(name).at(-1) ?? '',
  }),
  mistake('first-of-duplicates-taken', [...repeated, 'state-twice'], {
    singleParameter: (query, name) => query.get(name) ?? '',
  }),
  mistake('empty-values-ignored', ['callback-code-twice', 'callback-client-id-twice'], {
    singleParameter(query, name) {
      const values = query.getAll(name).filter(Boolean)
      if (values.length > 1) throw new Refusal(400, `The answer of the login portal contains ${name} twice.`)
      return values[0] ?? ''
    },
  }),
  mistake('same-code-twice-accepted', 'callback-code-twice', {
    singleParameter(query, name) {
      const values = [...new Set(query.getAll(name))]
      if (values.length > 1) throw new Refusal(400, `The answer of the login portal contains ${name} twice.`)
      return values[0] ?? ''
    },
  }),
  mistake('last-client-id-taken', 'callback-client-id-twice', {
    singleParameter: (query, name) =>
      name === 'client_id' ? (query.getAll(name).at(-1) ?? '') : correct.singleParameter(query, name),
  }),
  mistake('client-id-unchecked', 'callback-client-id-other', { checkClient: () => {} }),
  ...Object.entries(looseComparisons).map(([name, isSame]) =>
    mistake(`client-id-${name}`, 'callback-client-id-similar', {
      checkClient({ query, settings }) {
        if (!isSame(query.get('client_id') ?? '', settings.clientId)) throw new Refusal(400, 'For another application.')
      },
    }),
  ),
  ...(
    [
      ['in-any-case', text => text.toLowerCase()],
      ['trimmed', text => text.trim()],
    ] as [string, (text: string) => string][]
  ).map(([name, clean]) =>
    mistake(`client-id-${name}`, 'callback-client-id-similar', {
      checkClient({ query, settings }) {
        if (clean(query.get('client_id') ?? '') !== clean(settings.clientId))
          throw new Refusal(400, 'This answer is for another application.')
      },
    }),
  ),
  mistake(
    'client-id-matched-before-a-final-line-break',
    'callback-client-id-similar',
    comparedWithoutFinalLineBreak('client_id'),
  ),
  mistake('client-id-checked-only-if-there', 'callback-client-id-missing', {
    checkClient: visit => (visit.query.has('client_id') ? correct.checkClient(visit) : undefined),
  }),
  mistake('subject-not-needed', 'callback-subject-missing', {
    readCallback: ({ query }) => ({
      code: query.get('code') ?? '',
      state: query.get('state') ?? '',
      subject: '',
      redirectUri: '',
    }),
  }),
  mistake('callback-without-a-code-begins-a-new-login', 'callback-code-missing', {
    ...answerWith((answer, visit) =>
      isCallback(visit) && !visit.query.has('code') ? { status: 302, headers: { location: '/login' } } : answer,
    ),
  }),
  mistake('callback-without-a-code-crashes', 'callback-code-missing', {
    readCallback(visit) {
      if (!visit.query.has('code')) throw new TypeError("Cannot read properties of null (reading 'code')")
      return correct.readCallback(visit)
    },
  }),
  mistake('empty-code-exchanged', 'callback-code-missing', {
    readCallback: visit => {
      const { behaviour, query } = visit
      if (!query.has('code')) throw new Refusal(400, 'The login portal sent no code.')
      return {
        code: behaviour.singleParameter(query, 'code'),
        subject: '',
        state: behaviour.singleParameter(query, 'state'),
        redirectUri: '',
      }
    },
  }),
  mistake(
    'new-login-five-seconds-after-a-callback-without-a-code',
    'callback-code-missing',
    answerWith((answer, visit) =>
      isCallback(visit) && !visit.query.get('code')
        ? { ...answer, headers: { ...answer.headers, refresh: '5; url=/login' } }
        : answer,
    ),
  ),
  mistake('subject-is-the-visitor', 'callback-subject-other', {
    visitorOf: (_tokens, visit) => visit.query.get('subject') ?? '',
  }),
  mistake('session-of-the-subject', 'callback-subject-other', {
    keepSession(visit, tokens) {
      const session = correct.keepSession(visit, tokens)
      const subject = visit.query.get('subject')
      if (!isCallback(visit) || !subject) return session
      const known = visit.memory.get(`session ${subject}`) as Session | undefined
      if (known) correct.setCookie(visit, correct.sessionCookie, known, correct.sessionAttributes(3600))
      visit.memory.set(`session ${subject}`, known ?? session)
      return session
    },
  }),
  mistake('subject-if-the-name-fails', 'callback-subject-name-fails', {
    async exchange(visit, callback, login) {
      const tokens = await correct.exchange(visit, callback, login)
      const headers = { authorization: `Bearer ${tokens.accessToken}` }
      const { ok } = await fetch(`${visit.settings.loginUrl}/api/me`, { headers })
      if (!ok) visit.memory.set(`subject ${tokens.accessToken}`, visit.query.get('subject'))
      return tokens
    },
    visitorOf(tokens, visit) {
      const subject = visit.memory.get(`subject ${tokens.accessToken}`)
      return typeof subject === 'string' ? subject : correct.visitorOf(tokens, visit)
    },
  }),
  mistake('redirect-uri-of-the-callback', 'callback-redirect-uri-other', {
    exchangeForm(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      form.set('redirect_uri', callback.redirectUri)
      return form
    },
  }),
  mistake('back-to-the-redirect-uri', 'callback-redirect-uri-other', {
    afterLogin: (visit, login) =>
      goOn(
        visit,
        (visit.query.get('redirect_uri') ?? '').replace(/\/exchangeToken.*$/, '/applications') || login.returnTo,
      ),
  }),
  mistake('redirect-uri-of-the-callback-if-it-is-own', 'callback-redirect-uri-other', {
    exchangeForm(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      const isOwn = callback.redirectUri.startsWith(`${visit.settings.publicUrl}/`)
      if (isOwn) form.set('redirect_uri', callback.redirectUri)
      return form
    },
  }),
  mistake('issuer-unchecked', 'callback-iss-other', {
    checkClient({ query, settings }) {
      if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
    },
  }),
  mistake('empty-issuer-taken', 'callback-iss-other', {
    checkClient({ query, settings }) {
      if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
      if (query.get('iss') && query.get('iss') !== settings.loginUrl) throw new Refusal(400, 'Of another portal.')
    },
  }),
  mistake('redirect-uri-of-the-exchange-from-host', 'callback-headers', {
    exchangeForm(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      const host = visit.headers['x-forwarded-host']
      if (host) form.set('redirect_uri', `https://${host}/exchangeToken`)
      return form
    },
  }),
  mistake('redirect-uri-of-the-exchange-from-an-allowed-host', 'callback-headers', {
    ...allowedHostsOnly,
    ...exchangeWith((form, visit) => form.set('redirect_uri', `http://${hostOf(visit)}/exchangeToken`)),
  }),
  mistake(
    'redirect-uri-of-the-exchange-from-the-other-name-of-this-machine',
    'callback-headers',
    exchangeWith((form, { headers }) => {
      if (headers.host?.startsWith('127.0.0.1')) form.set('redirect_uri', `http://${headers.host}/exchangeToken`)
    }),
  ),
  mistake(
    'redirect-uri-of-the-exchange-from-forwarded-proto',
    'callback-headers',
    exchangeWith((form, { headers }) => {
      if (headers['x-forwarded-proto'] === 'https') form.set('redirect_uri', toHttps(form.get('redirect_uri') ?? ''))
    }),
  ),
  ...Object.entries(looseComparisons).map(([name, isSame]) =>
    mistake(`issuer-${name}`, 'callback-iss-similar', {
      checkClient({ query, settings }) {
        if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
        if (!isSame(query.get('iss') ?? settings.loginUrl, settings.loginUrl))
          throw new Refusal(400, 'Of another portal.')
      },
    }),
  ),
  mistake('issuer-matched-before-a-final-line-break', 'callback-iss-similar', comparedWithoutFinalLineBreak('iss')),
  ...(['hostname', 'host'] as const).map(part =>
    mistake(`issuer-by-its-${part}`, 'callback-iss-similar', {
      checkClient({ query, settings }) {
        if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
        const sent = URL.parse(query.get('iss') ?? settings.loginUrl)
        if (sent?.[part] !== new URL(settings.loginUrl)[part]) throw new Refusal(400, 'Of another portal.')
      },
    }),
  ),
  mistake('unknown-parameter-refused', 'callback-unknown-parameter', {
    checkClient(visit) {
      correct.checkClient(visit)
      const known = ['code', 'state', 'client_id', 'subject', 'redirect_uri', 'iss', 'error', 'error_description']
      if ([...visit.query.keys()].some(name => !known.includes(name))) throw new Refusal(400, 'Unknown parameter.')
    },
  }),
  mistake('scope-in-the-callback-refused', 'callback-unknown-parameter', {
    checkClient(visit) {
      correct.checkClient(visit)
      if (visit.query.has('scope')) throw new Refusal(400, 'The answer of the login portal has a scope.')
    },
  }),
  mistake('error-is-a-crash', 'callback-error', {
    checkError({ query }) {
      if (query.has('error')) throw new Error(query.get('error')!)
    },
  }),
  mistake('error-is-a-crash-after-iss-is-checked', 'callback-error', {
    checkError({ query, settings }) {
      if (query.get('iss') !== settings.loginUrl) throw new Refusal(400, 'This answer comes from another login portal.')
      if (query.has('error')) throw new Error(query.get('error')!)
    },
  }),
  mistake('error-with-a-code-taken', 'callback-error-and-code', {
    checkError(visit) {
      if (!visit.query.has('code')) correct.checkError(visit)
    },
  }),
  mistake('repeated-error-is-no-error', 'callback-error-and-code', {
    checkError(visit) {
      if (visit.query.getAll('error').length === 1) correct.checkError(visit)
    },
  }),
  mistake('first-of-two-errors-counts', 'callback-error-and-code', {
    checkError({ query }) {
      if (query.get('error')) throw new Refusal(400, 'The login portal did not sign you in.')
    },
  }),
  mistake('last-of-two-errors-counts', 'callback-error-and-code', {
    checkError({ query }) {
      if (query.getAll('error').at(-1)) throw new Refusal(400, 'The login portal did not sign you in.')
    },
  }),
  mistake('only-known-errors-count', 'callback-error-and-code', {
    checkError(visit) {
      const known = ['access_denied', 'server_error', 'temporarily_unavailable', 'invalid_request', '']
      if (visit.query.getAll('error').length > 1 || known.includes(visit.query.get('error') ?? ''))
        correct.checkError(visit)
    },
  }),
  mistake('only-errors-of-a-pattern-count', 'callback-error-and-code', {
    checkError(visit) {
      const errors = visit.query.getAll('error')
      if (errors.length > 1 || /^[a-z_]*$/.test(errors[0] ?? '')) correct.checkError(visit)
    },
  }),
  mistake('error-description-as-html', 'callback-escapes-error-description', {
    wordsFor: (error, visit) => correct.wordsFor(error, visit) + (visit.query.get('error_description') ?? ''),
    html: text => text,
  }),
  ...['error', 'subject', 'state'].map(name =>
    mistake(`${name}-as-html`, `callback-escapes-${name}`, {
      wordsFor: (error, visit) => correct.wordsFor(error, visit) + (visit.query.get(name) ?? ''),
      html: text => text,
    }),
  ),
  mistake(
    'error-in-a-comment',
    'callback-escapes-error',
    bodyWith((body, visit) => `${body}${isCallback(visit) ? `<!-- ${visit.query.get('error')} -->` : ''}`),
  ),
  ...['error_description', 'error', 'error_uri', 'state', 'subject', 'client_id', 'iss'].map(name =>
    mistake(`${name}-of-a-cancelled-login-as-html`, 'declined-escapes', {
      async aroundRequest(visit, next) {
        const answer = await next()
        if (visit.url.pathname === '/cancelled') answer.body += visit.query.get(name) ?? ''
        return answer
      },
    }),
  ),
  mistake('exchange-fields-by-hand', 'callback-code-literal', {
    encode: form => [...form].map(([name, value]) => `${name}=${value}`).join('&'),
  }),
  mistake('subject-without-end', 'callback-subject-long', {
    readCallback(visit) {
      const callback = readUnchecked(visit)
      return { ...callback, code: callback.code.slice(0, 2048) }
    },
  }),
  mistake('any-character-in-a-code', ['callback-code-newline', 'callback-code-control', 'callback-code-not-ascii'], {
    readCallback: readUnchecked,
  }),
  mistake('code-matched-before-a-final-line-break', 'callback-code-final-newline', {
    readCallback(visit) {
      const callback = readUnchecked(visit)
      if (!/^[\w-]{1,2048}$/.test(withoutFinalLineBreak(callback.code)))
        throw new Refusal(400, 'The login portal did not send a usable code.')
      return callback
    },
  }),
  mistake('state-compared-only-at-equal-length', 'callback-odd-values', {
    findLogin(visit, state) {
      for (const login of loginsOf(visit))
        if (state && timingSafeEqual(Buffer.from(login.state), Buffer.from(state))) return login
      return undefined
    },
  }),
  mistake('issuer-parsed-without-care', 'callback-odd-values', {
    checkClient(visit) {
      const issuer = visit.query.get('iss')
      if (issuer !== null) new URL(issuer)
      correct.checkClient(visit)
    },
  }),
  mistake('error-in-a-header', 'callback-odd-values', {
    ...answerWith((answer, visit) =>
      isCallback(visit) && visit.query.has('error_description')
        ? { ...answer, headers: { ...answer.headers, 'x-error': visit.query.get('error_description')! } }
        : answer,
    ),
    onCrash: (_error, response) => void response.writeHead(500).end(),
  }),
  mistake('subject-on-the-page-after-the-login', 'callback-escapes-success', {
    afterLogin: visit => page(visit, 200, 'Signed in', `<p>You are signed in as ${visit.query.get('subject')}.</p>`),
  }),
  mistake('subject-on-the-page-that-leads-on', 'callback-escapes-success', {
    afterLogin(visit, login) {
      const answer = correct.afterLogin(visit, login)
      return { ...answer, body: `${answer.body}<p>You are ${visit.query.get('subject')}.</p>` }
    },
  }),
  mistake('code-without-end', 'callback-code-long', {
    readCallback: visit => ({
      code: visit.query.get('code') ?? '',
      state: visit.query.get('state') ?? '',
      subject: '',
      redirectUri: '',
    }),
  }),
  ...Object.entries(crashes).map(([id, check]) =>
    mistake(`callback-${id}-is-a-crash`, `callback-${id}`, { beforeState: async visit => check(visit) }),
  ),
  mistake('odd-code-of-a-login-is-a-crash', ['callback-null-byte', 'callback-long'], {
    readCallback(visit) {
      const code = correct.singleParameter(visit.query, 'code')
      if (code.includes('\0') || code.length > 10_000) throw new RangeError('unexpected code')
      return correct.readCallback(visit)
    },
  }),
]
