import { type Parts, right } from '../parts.ts'
import { fault } from './fault.ts'

type Item = { '@id': string; data: { name: string; webPageUrl: string } }
const items = (answer: unknown) => (answer as { ItemList: Item[] }).ItemList
const trusting: Parts['readList'] = answer =>
  items(answer).map(item => ({ id: item['@id'], name: item.data.name.trim(), webPageUrl: item.data.webPageUrl }))

export const apiFaults = [
  fault('list-trusted', 'list-members-missing', { readList: trusting }),
  fault('list-of-strangers-crashes', 'list-hostile-texts', {
    itemOf(visit, application) {
      if (!/^[\w -]*$/.test(application.name)) throw new RangeError('Invalid name')
      return right.itemOf(visit, application)
    },
  }),
  fault('api-redirect-followed', 'list-redirect-302', { redirects: 'follow' }),
  fault('api-read-without-bound', 'list-bounded', { readBody: response => response.text() }),
  fault('api-waited-for-without-end', 'list-never', { deadlineMs: 86_400_000 }),
  fault('create-tried-again', 'create-reset-after-not-repeated', {
    async send(visit, request) {
      try {
        const [status, answer] = await right.send(visit, request)
        if (status < 500) return [status, answer]
      } catch {}
      return right.send(visit, request)
    },
  }),
  fault('api-words-shown', 'list-503-status', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status >= 400 && request.url.includes('/apps/')) throw new Error(`The API said: ${JSON.stringify(answer)}`)
      return [status, answer]
    },
    wordsFor: error => (error as Error).message,
  }),
  fault('api-down-is-a-crash', 'list-reset-status', {
    async send(visit, request) {
      try {
        return await right.send(visit, request)
      } catch {
        throw new TypeError('fetch failed')
      }
    },
  }),
  fault('api-down-signs-out', 'list-503', {
    statusFor(error) {
      return right.statusFor(error)
    },
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      if (status >= 500 && request.url.includes('/apps/')) right.dropSession(visit)
      return [status, answer]
    },
  }),
  fault('api-refusal-is-success', 'create-422-keeps-the-form', {
    async send(visit, request) {
      const [status, answer] = await right.send(visit, request)
      return [request.method === 'POST' && request.url.endsWith('/apps/v1') ? 201 : status, answer]
    },
  }),
  fault('api-busy-asked-again', 'list-429-not-repeated', {
    async send(visit, request) {
      let [status, answer] = await right.send(visit, request)
      for (let tries = 0; status === 429 && tries < 10; tries++) [status, answer] = await right.send(visit, request)
      return [status, answer]
    },
  }),
  fault('secret-to-the-api', 'api-no-client-secret', {
    send: (visit, request) =>
      right.send(visit, {
        ...request,
        headers: { ...request.headers, 'x-client-secret': visit.settings.clientSecret },
      }),
  }),
]
