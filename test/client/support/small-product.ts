// The smallest useful product, for tests: pages that call the API once, and a form with one field.
import type { Script } from './scripted-platform.ts'
import type { TestProduct } from './test-product.ts'

const thingsSchema = { type: 'array', items: {} } as const
const thingSchema = { type: 'object', properties: { name: {} } } as const

/**
 * `GET /page` calls the API's `GET /things`, and shows the first fifty strings of the answer. `GET /page/:id` calls
 * `GET /things/:id`, and shows the name in the answer. `POST /note` sends its field to the API with `POST /things`.
 */
export const smallProduct: TestProduct = {
  name: 'Small product',
  home: '/page',
  links: () => [{ href: '/page', text: 'Your things' }],

  async pages(app) {
    app.get('/page', async (request, reply) => {
      const things = await request.visitor.api.get('/things', thingsSchema)
      return reply.message({
        title: 'Your things',
        message: things.slice(0, 50).join(', ') || 'None yet.',
        nextStep: { href: '/note', text: 'A note' },
      })
    })

    app.get<{ Params: { id: string } }>('/page/:id', async (request, reply) => {
      const thing = await request.visitor.api.get(`/things/${encodeURIComponent(request.params.id)}`, thingSchema)
      return reply.message({ title: 'A thing', message: String(thing.name), nextStep: { href: '/page', text: 'All' } })
    })

    const note = app.defineForm({
      page: '/note',
      template: 'form',
      data: () => ({ title: 'A note', inputs: [{ name: 'note', label: 'Note', rows: 3 }], button: 'Send it' }),
    })
    app.get('/note', note.show)
    app.post(
      '/note',
      note.route,
      note.submit(async (request, reply, { fields, once }) => {
        await once(() => request.visitor.api.post('/things', { note: fields.note ?? '' }, thingSchema))
        return reply.redirect('/page', 303)
      }),
    )
  },
}

/** Good answers from the API to the calls of the small product. */
export const smallApi: Record<string, Script> = {
  'GET /things': { body: ['one', 'two'] },
  'GET /things/1': { body: { name: 'one' } },
  'POST /things': { status: 201, body: {} },
}
