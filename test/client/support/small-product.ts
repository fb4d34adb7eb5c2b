// The least that a product can be: a page that calls the API once, and a form of one field. It stands in for any other.

import { PublicError } from '../../../src/client/errors.ts'
import type { Product } from '../../../src/client/product.ts'
import { type Caller, visitorOf } from '../../../src/client/sign-in/sign-in.ts'
import { type Call, isRecord } from '../../../src/client/upstream.ts'
import { showMessage } from '../../../src/client/web/views.ts'
import type { Script } from './scripted-platform.ts'

/**
 * `GET /page` shows the first fifty of the texts that `GET /things` of the API answers, `GET /page/:id` the name of
 * `GET /things/:id`; `POST /note` sends its one field to `POST /things`.
 */
export const smallProduct: Product = {
  name: 'Small product',
  home: '/page',
  links: [{ href: '/page', text: 'Your things' }],

  pages(signedIn, { config, upstream, defineForm }) {
    async function send({ accessToken, context }: Caller, method: Call['method'], path: string, data?: object) {
      const answer = await upstream.send({
        method,
        url: `${config.apiInternalUrl}${path}`,
        headers: { authorization: `Bearer ${accessToken}`, ...(data && { 'content-type': 'application/json' }) },
        ...(data && { body: JSON.stringify(data) }),
        context,
        deadlineMs: 10_000,
        maxBytes: 8 * 1024 * 1024,
      })
      if (answer.status === 401) throw new PublicError('api_unauthorized', 401, 'The API does not accept your sign-in.')
      if (answer.status > 201) throw upstream.unusable(answer)
      return answer.json
    }

    signedIn.get('/page', async (request, reply) => {
      const things = await visitorOf(request).call(caller => send(caller, 'GET', '/things'))
      if (!Array.isArray(things)) throw upstream.unexpected('no list')
      const nextStep = { href: '/note', text: 'A note' }
      return showMessage(reply, {
        title: 'Your things',
        message: things.slice(0, 50).join(', ') || 'None yet.',
        nextStep,
      })
    })

    signedIn.get<{ Params: { id: string } }>('/page/:id', async (request, reply) => {
      const path = `/things/${encodeURIComponent(request.params.id)}`
      const thing = await visitorOf(request).call(caller => send(caller, 'GET', path))
      if (!isRecord(thing)) throw upstream.unexpected('no thing')
      return showMessage(reply, {
        title: 'A thing',
        message: String(thing.name),
        nextStep: { href: '/page', text: 'All' },
      })
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
          visitorOf(request).call(caller => send(caller, 'POST', '/things', { note: fields.note ?? '' })),
        )
        if (!isRecord(answer)) throw upstream.unexpected('no thing')
        return reply.redirect('/page', 303)
      }),
    )
  },
}

/** The API that it calls, as long as nothing goes wrong. */
export const smallApi: Record<string, Script> = {
  'GET /things': { body: ['one', 'two'] },
  'GET /things/1': { body: { name: 'one' } },
  'POST /things': { status: 201, body: {} },
}
