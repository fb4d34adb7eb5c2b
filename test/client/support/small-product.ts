// The least that a product can be: a page that calls the API once, and a form of one field. It stands in for any other.
import type { Product } from '../../../src/client/app.ts'
import { PublicError } from '../../../src/client/errors.ts'
import { type Caller, visitorOf } from '../../../src/client/sign-in/sign-in.ts'
import { type Call, isRecord } from '../../../src/client/upstream.ts'
import { showMessage } from '../../../src/client/web/views.ts'

/** `GET /page` shows the texts that `GET /things` of the API answers; `POST /note` sends its one field to `POST /things`. */
export const smallProduct: Product = {
  name: 'Small product',
  home: '/page',
  links: [{ href: '/page', text: 'Your things' }],

  pages(signedIn, { config, upstream, defineForm }) {
    async function send({ accessToken, requestId, endsAt }: Caller, method: Call['method'], data?: object) {
      const answer = await upstream.send({
        method,
        url: `${config.apiInternalUrl}/things`,
        headers: { authorization: `Bearer ${accessToken}`, ...(data && { 'content-type': 'application/json' }) },
        ...(data && { body: JSON.stringify(data) }),
        requestId,
        endsAt,
        deadlineMs: 10_000,
        maxBytes: 256 * 1024,
      })
      if (answer.status === 401) throw new PublicError('api_unauthorized', 401, 'The API does not accept your sign-in.')
      if (answer.status === 429 || answer.status >= 500) throw upstream.unavailable(answer)
      if (answer.status > 201) throw upstream.unexpected(`status ${answer.status}`)
      return answer.json
    }

    signedIn.get('/page', async (request, reply) => {
      const things = await visitorOf(request).call(caller => send(caller, 'GET'))
      if (!Array.isArray(things)) throw upstream.unexpected('no list')
      const nextStep = { href: '/note', text: 'A note' }
      return showMessage(reply, { title: 'Your things', message: things.join(', ') || 'None yet.', nextStep })
    })

    const note = defineForm({
      page: '/note',
      template: 'form',
      data: () => ({ title: 'A note', inputs: [{ name: 'note', label: 'Note', rows: 3 }], button: 'Send it' }),
    })
    signedIn.get('/note', note.open)
    signedIn.post(
      '/note',
      note.route,
      note.submit(async (request, reply, { fields, once }) => {
        const answer = await once(() =>
          visitorOf(request).call(caller => send(caller, 'POST', { note: fields.note ?? '' })),
        )
        if (!isRecord(answer)) throw upstream.unexpected('no thing')
        return reply.redirect('/page', 303)
      }),
    )
  },
}
