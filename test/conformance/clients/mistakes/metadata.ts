// Clients that read the metadata of the portal, and trust the document too much or cannot work without it.
import { type Behaviour, correct } from '../behaviour.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { page } from '../pages.ts'
import { isRecord } from '../platform.ts'
import { isCallback } from '../requests.ts'
import { Refusal, type Visit } from '../visit.ts'

type Document = Record<string, unknown>

interface Reading {
  deadlineMs: number
  /** Returns the largest number of bytes that the client reads. */
  most(response: Response): number
  redirects: 'error' | 'follow'
  /** Whether the client reads the document again at each login. */
  isAskedAgain: boolean
  isBelieved(document: Document, visit: Visit): boolean
  /** The document that the client uses if it cannot read a new one. */
  otherwise(visit: Visit): Document
}

const known = (visit: Visit) => (visit.memory.get('metadata') ?? {}) as Document

const rightReading: Reading = {
  deadlineMs: 1000,
  most: () => 65_536,
  redirects: 'error',
  isAskedAgain: false,
  isBelieved: ({ issuer }, { settings }) => issuer === settings.loginUrl,
  otherwise: known,
}

async function read(visit: Visit, { deadlineMs, most, redirects, isBelieved, otherwise }: Reading): Promise<void> {
  let document: Document
  try {
    const response = await fetch(`${visit.settings.loginUrl}/.well-known/oauth-authorization-server`, {
      signal: AbortSignal.timeout(deadlineMs),
      redirect: redirects,
    })
    const answer: unknown = JSON.parse(await correct.readBody(response, most(response)))
    if (!response.ok || !isRecord(answer) || !isBelieved(answer, visit)) throw new Error('not the document')
    document = answer
    visit.memory.set('isRead', true)
  } catch {
    document = otherwise(visit)
  }
  visit.memory.set('metadata', document)
}

const takesPkce = (visit: Visit) => {
  const methods = known(visit).code_challenge_methods_supported
  return Array.isArray(methods) && methods.includes('S256')
}

/**
 * Makes a client that reads the document once, before its first login. `change` replaces properties of `rightReading`.
 */
function readingMetadata(change: Partial<Reading> = {}, behaviour: Partial<Behaviour> = {}): Partial<Behaviour> {
  const reading = { ...rightReading, ...change }
  return {
    async aroundRequest(visit, next) {
      const isNeeded = visit.url.pathname === '/login' && (reading.isAskedAgain || !visit.memory.has('isRead'))
      if (isNeeded) await read(visit, reading)
      return next()
    },
    startQuery(visit, state, verifier) {
      const query = correct.startQuery(visit, state, verifier)
      if (!takesPkce(visit)) for (const name of ['code_challenge', 'code_challenge_method']) query.delete(name)
      return query
    },
    newVerifier: visit => (takesPkce(visit) ? correct.newVerifier(visit) : ''),
    exchangeForm(visit, callback, login) {
      const form = correct.exchangeForm(visit, callback, login)
      if (!login.verifier) form.delete('code_verifier')
      return form
    },
    checkClient(visit) {
      correct.checkClient(visit)
      const isPromised = known(visit).authorization_response_iss_parameter_supported === true
      if (isPromised && !visit.query.has('iss')) throw new Refusal(400, 'This answer does not name its sender.')
    },
    /** Revokes only if the document lists the endpoint. */
    async revoke(visit, token) {
      if (known(visit).revocation_endpoint !== undefined) await correct.revoke(visit, token)
    },
    ...behaviour,
  }
}

/** A correct client. A test requires that no check fails for this client. */
export const metadataReader = readingMetadata()

/**
 * Keeps the document of each portal across restarts, as a client with a database does. The client asks a portal for the
 * document only if it has none for this portal.
 */
export function keepingDocuments(behaviour: Partial<Behaviour> = metadataReader): Partial<Behaviour> {
  const kept = new Map<string, Document>()
  return {
    ...behaviour,
    async aroundRequest(visit, next) {
      const { loginUrl } = visit.settings
      const document = kept.get(loginUrl)
      if (document) visit.memory.set('metadata', document).set('isRead', true)
      const answer = await behaviour.aroundRequest!(visit, next)
      if (visit.memory.has('isRead')) kept.set(loginUrl, known(visit))
      return answer
    },
  }
}

/** Uses the addresses in the document for login requests and for exchanges. */
const takesHosts: Partial<Behaviour> = {
  portalStart: visit => String(known(visit).authorization_endpoint ?? correct.portalStart(visit)),
  portalUrl: (visit, path, form) =>
    path === '/api/exchangeToken'
      ? String(known(visit).token_endpoint ?? correct.portalUrl(visit, path, form))
      : correct.portalUrl(visit, path, form),
}

/** Uses the address in the field `member` of the document for the calls that `isMeant` selects. */
const takesHost = (member: string, isMeant: (path: string, form: URLSearchParams) => boolean): Partial<Behaviour> => ({
  portalUrl: (visit, path, form) =>
    isMeant(path, form)
      ? String(known(visit)[member] ?? correct.portalUrl(visit, path, form))
      : correct.portalUrl(visit, path, form),
})

/** Reads any issuer's metadata, and sends the login request with the client secret to the address in it (RFC 9126). */
const pushingReader = readingMetadata({ isBelieved: () => true })
const pushesLogins: Partial<Behaviour> = {
  ...pushingReader,
  aroundRequest: (visit, next) =>
    pushingReader.aroundRequest!(visit, async () => {
      const address = known(visit).pushed_authorization_request_endpoint
      if (visit.url.pathname !== '/login' || typeof address !== 'string') return next()
      const { clientId, clientSecret } = visit.settings
      const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret })
      const { status } = await fetch(address, { method: 'POST', body })
      return status === 201 ? next() : page(visit, 502, 'Failed', 'Please try again later.')
    }),
}

/** Refuses a callback without iss if `isPromised` is true, or if the document promises iss. */
const demandsIss = (isPromised: (visit: Visit) => boolean): Partial<Behaviour> => ({
  checkClient(visit) {
    metadataReader.checkClient!(visit)
    if (isPromised(visit) && !visit.query.has('iss')) throw new Refusal(400, 'This answer does not name its sender.')
  },
})

/** Compares iss only if the client expects an issuer. */
const comparesIss = (expected: (visit: Visit) => unknown): Partial<Behaviour> => ({
  checkClient(visit) {
    const { query, settings } = visit
    if (query.get('client_id') !== settings.clientId) throw new Refusal(400, 'For another application.')
    const issuer = expected(visit)
    if (issuer !== undefined && query.has('iss') && query.get('iss') !== issuer)
      throw new Refusal(400, 'Of another portal.')
  },
})

const needsIt = readingMetadata({
  otherwise() {
    throw new Refusal(503, 'The portal does not answer just now.')
  },
})

export const metadata: Mistake[] = [
  mistake('metadata-needed', ['metadata-404', 'metadata-503', 'metadata-html'], {
    ...needsIt,
    async aroundRequest(visit, next) {
      try {
        return await needsIt.aroundRequest!(visit, next)
      } catch {
        return { status: 503, body: 'Please try again later.' }
      }
    },
  }),
  mistake(
    'metadata-waited-for-without-end',
    ['metadata-never', 'metadata-endless-body'],
    readingMetadata({ deadlineMs: 86_400_000, most: () => Number.POSITIVE_INFINITY }),
  ),
  mistake('metadata-waited-for-five-seconds', 'metadata-never', readingMetadata({ deadlineMs: 5000 })),
  mistake('metadata-waited-for-two-seconds', 'metadata-never', readingMetadata({ deadlineMs: 2000 })),
  mistake('metadata-waited-for-and-kept', 'metadata-never', keepingDocuments(readingMetadata({ deadlineMs: 5000 }))),
  mistake(
    'metadata-of-anybody-kept',
    ['metadata-issuer-features', 'metadata-issuer-revocation'],
    keepingDocuments(readingMetadata({ isBelieved: () => true })),
  ),
  mistake(
    'metadata-kept-and-revocation-not-looked-up',
    'metadata-no-revocation',
    keepingDocuments({ ...metadataReader, revoke: correct.revoke }),
  ),
  mistake(
    'metadata-deadline-for-each-read',
    ['metadata-slow-header', 'metadata-drip'],
    readingMetadata({ deadlineMs: 86_400_000 }),
  ),
  mistake('metadata-of-any-type', 'metadata-broken', {
    ...metadataReader,
    startQuery(visit, state, verifier) {
      const methods = (known(visit).code_challenge_methods_supported ?? []) as string[]
      methods.map(method => method.toLowerCase())
      return metadataReader.startQuery!(visit, state, verifier)
    },
  }),
  mistake(
    'metadata-methods-of-any-type',
    'metadata-wrong-types',
    readingMetadata({
      isBelieved(document, visit) {
        document.code_challenge_methods_supported = ((document.code_challenge_methods_supported ?? []) as string[]).map(
          method => method.toUpperCase(),
        )
        return rightReading.isBelieved(document, visit)
      },
      otherwise() {
        throw new Refusal(503, 'The portal does not answer just now.')
      },
    }),
  ),
  mistake('metadata-asked-for-once', 'metadata-read-later', {
    ...metadataReader,
    async aroundRequest(visit, next) {
      const hasAsked = visit.memory.has('hasAsked')
      visit.memory.set('hasAsked', true)
      return hasAsked ? next() : metadataReader.aroundRequest!(visit, next)
    },
  }),
  mistake('metadata-redirect-followed', 'metadata-redirect', readingMetadata({ redirects: 'follow' })),
  mistake(
    'features-of-another-issuer',
    ['metadata-issuer-revocation', 'metadata-not-replaced-by-another-issuer'],
    readingMetadata({ isAskedAgain: true, isBelieved: () => true }),
  ),
  mistake('metadata-of-anybody', 'metadata-issuer-other', readingMetadata({ isBelieved: () => true }, takesHosts)),
  mistake('features-of-anybody', 'metadata-issuer-features', readingMetadata({ isBelieved: () => true })),
  mistake(
    'features-of-a-similar-issuer',
    'metadata-issuer-features',
    readingMetadata({ isBelieved: ({ issuer }, { settings }) => `${issuer}`.startsWith(settings.loginUrl) }),
  ),
  mistake(
    'features-without-an-issuer',
    'metadata-issuer-features',
    readingMetadata({ isBelieved: ({ issuer = '' }, { settings }) => issuer === '' || issuer === settings.loginUrl }),
  ),
  mistake(
    'issuer-compared-by-host',
    'metadata-issuer-features',
    readingMetadata({
      isBelieved: ({ issuer }, { settings }) =>
        URL.parse(`${issuer}`)?.hostname === new URL(settings.loginUrl).hostname,
    }),
  ),
  mistake('metadata-of-any-size', 'metadata-large-refused', readingMetadata({ most: () => Number.POSITIVE_INFINITY })),
  mistake(
    'compressed-metadata-of-any-size',
    'metadata-large-refused',
    readingMetadata({ most: ({ headers }) => (headers.has('content-encoding') ? Number.POSITIVE_INFINITY : 65_536) }),
  ),
  mistake('metadata-chooses-hosts', 'metadata-endpoints-elsewhere', readingMetadata({}, takesHosts)),
  mistake(
    'metadata-chooses-the-host-of-revocations',
    'metadata-endpoints-elsewhere',
    readingMetadata(
      {},
      takesHost('revocation_endpoint', path => path === '/api/revokeToken'),
    ),
  ),
  mistake(
    'metadata-chooses-the-host-of-renewals',
    'metadata-endpoints-elsewhere',
    readingMetadata(
      {},
      takesHost('token_endpoint', (_, form) => form.get('grant_type') === 'refresh_token'),
    ),
  ),
  mistake(
    'metadata-chooses-the-host-of-pushed-logins',
    ['metadata-endpoints-elsewhere', 'metadata-issuer-other'],
    pushesLogins,
  ),
  mistake(
    'metadata-chooses-the-page-after-a-sign-out',
    'metadata-endpoints-elsewhere',
    readingMetadata(
      {},
      {
        signedOut: visit => page(visit, 200, 'Signed out', `<a href="${known(visit).end_session_endpoint}">Leave</a>`),
      },
    ),
  ),
  mistake(
    'metadata-chooses-plain',
    'metadata-pkce-plain',
    readingMetadata(
      {},
      {
        newVerifier: correct.newVerifier,
        startQuery(visit, state, verifier) {
          const query = correct.startQuery(visit, state, verifier)
          if (takesPkce(visit)) return query
          query.set('code_challenge', verifier)
          query.set('code_challenge_method', 'plain')
          return query
        },
      },
    ),
  ),
  mistake(
    'pkce-whatever-the-metadata-says',
    ['metadata-no-pkce-404', 'metadata-no-pkce-pkce-missing'],
    readingMetadata({}, { newVerifier: correct.newVerifier, startQuery: correct.startQuery }),
  ),
  mistake(
    'parameter-of-no-specification-without-metadata',
    'metadata-no-pkce-404',
    readingMetadata(
      {},
      {
        startQuery(visit, state, verifier) {
          const query = metadataReader.startQuery!(visit, state, verifier)
          query.set('prompt', 'login')
          return query
        },
      },
    ),
  ),
  mistake(
    'empty-verifier-without-pkce',
    ['metadata-no-pkce-404', 'metadata-no-pkce-pkce-missing'],
    readingMetadata({}, { exchangeForm: correct.exchangeForm }),
  ),
  mistake(
    'pkce-if-any-method-is-listed',
    'metadata-no-pkce-pkce-plain',
    readingMetadata(
      {},
      {
        newVerifier: visit => (known(visit).code_challenge_methods_supported ? correct.newVerifier(visit) : ''),
        startQuery: (visit, state, verifier) =>
          verifier === ''
            ? metadataReader.startQuery!(visit, state, verifier)
            : correct.startQuery(visit, state, verifier),
      },
    ),
  ),
  mistake(
    'pkce-only-if-nothing-else-is-listed',
    'metadata-pkce-of-several',
    readingMetadata({
      isBelieved(document, visit) {
        const methods = document.code_challenge_methods_supported
        if (Array.isArray(methods) && methods.length > 1) document.code_challenge_methods_supported = []
        return rightReading.isBelieved(document, visit)
      },
    }),
  ),
  mistake(
    'revokes-whatever-the-metadata-says',
    'metadata-no-revocation',
    readingMetadata({}, { revoke: correct.revoke }),
  ),
  mistake(
    'revokes-until-a-document-was-read',
    'metadata-no-revocation',
    readingMetadata(
      {},
      {
        async revoke(visit, token) {
          const isUnknown = !visit.memory.has('isRead')
          if (isUnknown || known(visit).revocation_endpoint !== undefined) await correct.revoke(visit, token)
        },
      },
    ),
  ),
  mistake('portal-sign-out-always-linked', 'metadata-no-sign-out-link', {
    ...metadataReader,
    signedOut: ({ settings }) => ({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: `<!doctype html><html lang="en"><title>Signed out</title><a href="${settings.loginUrl}/sign-out">Portal</a></html>`,
    }),
  }),
  mistake(
    'metadata-promise-of-iss-ignored',
    'metadata-iss-promised',
    readingMetadata({}, { checkClient: correct.checkClient }),
  ),
  mistake(
    'empty-iss-passes',
    'metadata-iss-promised',
    readingMetadata(
      {},
      {
        checkClient(visit) {
          if (visit.query.get('iss') === '') visit.query.delete('iss')
          correct.checkClient(visit)
          const isPromised = known(visit).authorization_response_iss_parameter_supported === true
          if (isPromised && !/[?&]iss=/.test(visit.target)) throw new Refusal(400, 'This answer has no issuer.')
        },
      },
    ),
  ),
  mistake(
    'iss-always-demanded',
    'metadata-iss-not-promised',
    readingMetadata(
      {},
      {
        checkClient(visit) {
          correct.checkClient(visit)
          if (!visit.query.has('iss')) throw new Refusal(400, 'This answer does not name its sender.')
        },
      },
    ),
  ),
  mistake(
    'iss-demanded-because-of-false',
    'metadata-iss-not-promised',
    readingMetadata(
      {},
      demandsIss(visit => 'authorization_response_iss_parameter_supported' in known(visit)),
    ),
  ),
  mistake(
    'iss-demanded-without-metadata',
    'metadata-iss-not-promised',
    readingMetadata(
      {},
      demandsIss(visit => !('issuer' in known(visit))),
    ),
  ),
  mistake(
    'iss-compared-only-if-the-metadata-promises-it',
    'metadata-iss-compared',
    readingMetadata(
      {},
      {
        checkClient(visit) {
          if (visit.query.get('client_id') !== visit.settings.clientId)
            throw new Refusal(400, 'For another application.')
          const isPromised = known(visit).authorization_response_iss_parameter_supported === true
          if (isPromised && visit.query.get('iss') !== visit.settings.loginUrl)
            throw new Refusal(400, 'Of another portal.')
        },
      },
    ),
  ),
  mistake(
    'iss-compared-only-if-there-is-metadata',
    'metadata-iss-compared',
    readingMetadata(
      {},
      comparesIss(visit => known(visit).issuer),
    ),
  ),
  mistake(
    'iss-compared-with-the-metadata-of-anybody',
    'metadata-iss-compared',
    readingMetadata(
      { isBelieved: () => true },
      comparesIss(visit => known(visit).issuer ?? visit.settings.loginUrl),
    ),
  ),
  mistake('metadata-read-at-each-sign-out', 'metadata-kept', {
    ...metadataReader,
    async revoke(visit, token) {
      await read(visit, rightReading)
      await metadataReader.revoke!(visit, token)
    },
  }),
  mistake('metadata-read-for-each-login', 'metadata-kept', readingMetadata({ isAskedAgain: true })),
  mistake('metadata-read-at-each-callback', 'metadata-kept', {
    ...metadataReader,
    async aroundRequest(visit, next) {
      if (isCallback(visit)) await read(visit, rightReading)
      return metadataReader.aroundRequest!(visit, next)
    },
  }),
  mistake(
    'metadata-forgotten',
    ['metadata-not-forgotten', 'metadata-not-forgotten-when-broken'],
    readingMetadata({ isAskedAgain: true, otherwise: () => ({}) }),
  ),
  mistake(
    'only-pkce-is-remembered',
    'metadata-not-forgotten',
    readingMetadata({
      isAskedAgain: true,
      otherwise: visit => ({ code_challenge_methods_supported: known(visit).code_challenge_methods_supported }),
    }),
  ),
]
