// Clients that take their own address from a header of the request.
import { correct } from '../../behaviour.ts'
import { addRaw, allowedHostsOnly, answerWith, bodyAt, hostOf, startWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

export const ownAddress: Mistake[] = [
  mistake(
    'redirects-from-the-forwarded-host',
    'forwarded-host-not-believed',
    answerWith((answer, { headers }) => {
      const [location, host] = [answer.headers?.location, headers['x-forwarded-host']]
      if (!location?.startsWith('/') || host === undefined) return answer
      return { ...answer, headers: { ...answer.headers, location: `http://${host}${location}` } }
    }),
  ),
  mistake('links-of-the-callback-page-to-the-forwarded-host', 'forwarded-host-not-believed', {
    afterLogin(visit, login) {
      const answer = correct.afterLogin(visit, login)
      const host = visit.headers['x-forwarded-host']
      return host ? { ...answer, body: answer.body!.replaceAll('="/', `="http://${host}/`) } : answer
    },
  }),
  mistake('sign-out-to-the-forwarded-host', 'forwarded-host-not-believed', {
    signedOut(visit) {
      const host = visit.headers['x-forwarded-host'] ?? visit.headers.host
      return { ...correct.signedOut(visit), headers: { location: `http://${host}/` } }
    },
  }),
  mistake('links-begin-with-the-forwarded-prefix', 'forwarded-host-not-believed', {
    ...answerWith((answer, { headers }) => {
      const [location, prefix] = [answer.headers?.location, headers['x-forwarded-prefix']]
      if (!location?.startsWith('/') || prefix === undefined) return answer
      return { ...answer, headers: { ...answer.headers, location: `${prefix}${location}` } }
    }),
  }),
  mistake(
    'own-address-from-the-forwarded-scheme',
    'forwarded-proto-not-believed',
    startWith((query, { headers }) => {
      const proto = headers['x-forwarded-proto']
      const own = query.get('redirect_uri')!
      if (typeof proto === 'string') query.set('redirect_uri', own.replace(/^\w+/, proto))
    }),
  ),
  mistake(
    'links-of-the-form-from-host',
    'foreign-host-not-linked',
    bodyAt('/applications/new', (body, { headers }) =>
      addRaw(body, `<a href="http://${correct.html(headers.host ?? '')}/help">Help</a>`),
    ),
  ),
  mistake('links-of-the-form-from-an-allowed-host', 'foreign-host-not-linked', {
    async aroundRequest(visit, next) {
      const answer = await allowedHostsOnly.aroundRequest!(visit, next)
      if (visit.url.pathname !== '/applications/new' || answer.status !== 200) return answer
      return { ...answer, body: addRaw(answer.body!, `<a href="http://${correct.html(hostOf(visit))}/help">Help</a>`) }
    },
  }),
]
