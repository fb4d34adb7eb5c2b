// The product along which docs/make-it-yours.md tells how one is made; its code blocks are lines of this file.
import { DatabaseSync } from 'node:sqlite'
import { FieldError, PublicError } from '../../../src/client/errors.ts'
import type { TestProduct } from '../support/test-product.ts'
import { type Caller, visitorOf } from '../../../src/client/sign-in/sign-in.ts'
import { isRecord, type Upstream } from '../../../src/client/upstream.ts'

/** Each visitor's notes. */
export function openNotes(file: string) {
  const database = new DatabaseSync(file)
  database.exec('create table if not exists notes (user_id text not null, note text not null) strict')
  const list = database.prepare('select note from notes where user_id = ? order by rowid')
  const add = database.prepare('insert into notes (user_id, note) values (?, ?)')
  return {
    list: (userId: string) => list.all(userId).map(({ note }) => String(note)),
    add: (userId: string, note: string) => void add.run(userId, note),
    isReady: () => database.isOpen,
    close: () => database.close(),
  }
}

/** How many things the visitor has at the API. */
export function createCountThings(apiUrl: string, upstream: Upstream) {
  return async ({ accessToken, context }: Caller): Promise<number> => {
    const headers = { authorization: `Bearer ${accessToken}` }
    const limits = { deadlineMs: 10_000, maxBytes: 1024 * 1024 }
    const answer = await upstream.send({ method: 'GET', url: `${apiUrl}/apps/v1`, headers, context, ...limits })
    if (answer.status === 401) throw new PublicError('api_unauthorized', 401, 'Please sign in again.')
    const items = isRecord(answer.json) ? answer.json.ItemList : undefined
    if (answer.status !== 200 || !Array.isArray(items)) throw upstream.unusable(answer)
    return items.length
  }
}

export function createProduct(file: string): Product {
  const notes = openNotes(file)
  return {
    name: 'Notes',
    home: '/notes',
    links: [{ href: '/notes', text: 'Your notes' }],
    isReady: notes.isReady,

    pages(signedIn, { config, upstream, defineForm }) {
      signedIn.addHook('onClose', async () => notes.close())

      const countThings = createCountThings(config.apiInternalUrl, upstream)
      signedIn.get('/notes', async (request, reply) => {
        const { call, userId = '' } = request.visitor
        const message = `${await call(countThings)} things. ${notes.list(userId).join(', ')}`
        return reply.message({ title: 'Your notes', message, nextStep: { href: '/notes/new', text: 'A note' } })
      })

      const form = defineForm({
        page: '/notes/new',
        template: 'form',
        data: () => ({ title: 'A note', inputs: [{ name: 'note', label: 'Note', required: true }], button: 'Save' }),
      })
      signedIn.get('/notes/new', form.show)
      signedIn.post(
        '/notes/new',
        form.route,
        form.submit(async (request, reply, { fields, once }) => {
          const { userId } = request.visitor
          if (!userId) throw new PublicError('no_subject', 403, 'The login portal does not say who you are.')
          const { note } = fields
          if (!note) throw new FieldError({ note: ['Write something.'] })
          await once(async () => notes.add(userId, note))
          return reply.redirect('/notes', 303)
        }),
      )
    },
  }
}
