// Clients that leak a secret only in one special case.
import { right } from '../parts.ts'
import { callApi, callPortal, isRecord } from '../platform.ts'
import { PlatformFault, type Visit } from '../visit.ts'
import { type Fault, fault, memoryOf } from './fault.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Makes a fault: the client prints `what` for each request that ends with a platform failure. */
const printedOnErrors = (name: string, what: (visit: Visit) => string) =>
  fault(name, 'run-log-secrets', {
    wordsFor(error, visit) {
      if (error instanceof PlatformFault) visit.settings.print(`request failed: ${what(visit)}`)
      return right.wordsFor(error, visit)
    },
  })

export const wholeRun: Fault[] = [
  printedOnErrors('headers-of-a-failed-request-printed', ({ headers }) => JSON.stringify(headers)),
  printedOnErrors('cookie-of-a-failed-request-cut-off', ({ headers }) => String(headers.cookie).slice(0, 400)),
  printedOnErrors('address-of-a-failed-request-printed', ({ url }) => url.href),
  ...[
    (form: URLSearchParams) => `${form}`,
    (form: URLSearchParams) => base64(`${form}`),
    (form: URLSearchParams) => `${form.get('refresh_token')?.slice(0, 18)}…`,
  ].map((spell, at) =>
    fault(`failed-renewal-printed-${at + 1}`, 'run-log-secrets', {
      async renew(visit, refreshToken) {
        try {
          return await right.renew(visit, refreshToken)
        } catch (error) {
          visit.settings.print(`renewal failed: ${spell(right.renewalForm(visit.settings, refreshToken))}`)
          throw error
        }
      },
    }),
  ),
  fault('name-of-the-visitor-printed', 'run-log-people', {
    keepSession(visit, tokens) {
      const session = right.keepSession(visit, tokens)
      void callApi(
        { ...visit, settings: { ...visit.settings, apiUrl: visit.settings.loginUrl } },
        session,
        'GET',
        '/api/me',
      )
        .then(([, person]) => visit.settings.print(`${isRecord(person) ? person.firstName : ''} has signed in`))
        .catch(() => {})
      return session
    },
  }),
  fault('secret-in-the-headers-since-a-renewal', 'run-secret-at-the-portal', {
    renew(visit, refreshToken) {
      memoryOf(visit).set('has renewed', true)
      return right.renew(visit, refreshToken)
    },
    send(visit, request) {
      const secret = memoryOf(visit).has('has renewed') && { 'x-client-secret': visit.settings.clientSecret }
      return right.send(visit, { ...request, headers: { ...request.headers, ...secret } })
    },
  }),
  fault('revocation-in-the-address', ['run-addresses', 'logout-revocation-address'], {
    async revoke(visit, token) {
      const query = new URLSearchParams({ token, client_secret: visit.settings.clientSecret })
      const parts = { ...visit.parts, portalUrl: () => `${visit.settings.loginUrl}/api/revokeToken?${query}` }
      await callPortal({ ...visit, parts }, '/api/revokeToken', query).catch(() => {})
    },
  }),
  fault('token-in-the-address-of-a-second-try', 'run-addresses', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status !== 500) return [status, answer]
      const token = request.headers.authorization?.split(' ')[1] ?? ''
      return right.send(visit, { ...request, url: `${request.url}?access_token=${token}` })
    },
  }),
  fault('revocation-with-the-visitors-cookies', 'run-headers', {
    revoke: (visit, token) =>
      right.revoke(
        {
          ...visit,
          parts: {
            ...visit.parts,
            portalHeaders: visit => ({ ...right.portalHeaders(visit), cookie: visit.headers.cookie ?? '' }),
          },
        },
        token,
      ),
  }),
  fault('failed-call-on-the-error-page', 'run-pages', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status >= 500) memoryOf(visit).set('failed', JSON.stringify(request))
      return [status, answer]
    },
    wordsFor: (error, visit) => `${right.wordsFor(error, visit)} ${memoryOf(visit).get('failed') ?? ''}`,
  }),
]
