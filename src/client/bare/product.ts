// The least that a client can be: one page for signed-in visitors, which calls the API once.
import { PublicError } from '../errors.ts'
import type { Product } from '../product.ts'
import { visitorOf } from '../sign-in/sign-in.ts'
import { isRecord } from '../upstream.ts'
import { showMessage } from '../web/views.ts'

// Yours: the product, by hand and in order.
export const product: Product = {
  name: 'My client',
  home: '/home',
  links: [{ href: '/home', text: 'Home' }],

  pages(signedIn, { config, upstream }) {
    signedIn.get('/home', async (request, reply) => {
      const { json } = await visitorOf(request).call(async ({ accessToken, context }) => {
        const headers = { authorization: `Bearer ${accessToken}` }
        const limits = { deadlineMs: 10_000, maxBytes: 8 * 1024 * 1024 }
        const url = `${config.apiInternalUrl}/apps/v1`
        const answer = await upstream.send({ method: 'GET', url, headers, context, ...limits })
        // A 401 alone is tried again with a renewed access token, and else leads to the login.
        if (answer.status === 401) throw new PublicError('api_unauthorized', 401, 'Please sign in again.')
        if (answer.status !== 200) throw upstream.unusable(answer)
        return answer
      })
      const items = isRecord(json) ? json.ItemList : undefined
      if (!Array.isArray(items)) throw upstream.unexpected('no list')
      const message = `The platform lists ${items.length} of what you made there.`
      return showMessage(reply, { title: 'You are signed in', message, nextStep: { href: '/', text: 'Start page' } })
    })
  },
}
