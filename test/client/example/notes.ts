// The example product of docs/make-it-yours.md. The code blocks of the guide are taken from the files of this folder.
import { EventEmitter } from 'node:events'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { FastifyPluginAsyncJsonSchemaToTs } from '@fastify/type-provider-json-schema-to-ts'
import type { FastifyRequest } from 'fastify'
import { FieldError, PublicError } from '../../../src/client/errors.ts'
import { FormUsed } from '../../../src/client/web/forms.ts'
import { notesTexts } from './texts.ts'

declare module '../../../src/client/sign-in/visitor.ts' {
  interface SessionData {
    role?: string
  }
}

export function openStore(file: string) {
  mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file)
  database.exec('create table if not exists notes (user_id text not null, note text not null) strict')
  const find = database.prepare('select note from notes where user_id = ? and instr(note, ?) > 0 order by rowid')
  const all = database.prepare('select note from notes order by rowid')
  const add = database.prepare('insert into notes (user_id, note) values (?, ?)')
  // Each open stream adds a listener. With `setMaxListeners(0)`, Node does not warn about too many listeners.
  const changes = new EventEmitter().setMaxListeners(0)
  return {
    find: (userId: string, words: string) => find.all(userId, words).map(({ note }) => String(note)),
    all: () => all.all().map(({ note }) => String(note)),
    add(userId: string, note: string) {
      add.run(userId, note)
      changes.emit(userId)
    },
    /**
     * Emits the user id after each new note. If there are several replicas, use `listen` and `notify` of PostgreSQL
     * instead.
     */
    changes,
    isReady: () => database.isOpen,
    close: () => database.close(),
  }
}

export type Store = ReturnType<typeof openStore>

export const applicationList = {
  type: 'object',
  required: ['ItemList'],
  properties: { ItemList: { type: 'array' } },
} as const
const search = { type: 'object', properties: { q: { type: 'string' } } } as const
const newNote = { type: 'object', required: ['note'], properties: { note: { type: 'string', minLength: 1 } } } as const

type NotesOptions = { store: Store }

export const notes: FastifyPluginAsyncJsonSchemaToTs<{ Options: NotesOptions }> = async (app, { store }) => {
  app.addHook('onClose', async () => store.close())
  app.addTexts({ notes: notesTexts })

  app.get('/notes', { schema: { querystring: search } }, async (request, reply) => {
    const { ItemList } = await request.visitor.api.get('/apps/v1', applicationList)
    const found = store.find(findUserId(request), request.query.q ?? '')
    const texts = request.texts.notes
    return reply.message({
      title: texts.home,
      message: texts.notes(ItemList.length, found.join(', ')),
      nextStep: { href: '/notes/new', text: texts.write },
    })
  })

  app.get('/notes/all', async (request, reply) => {
    requireModerator(request)
    const texts = request.texts.notes
    const nextStep = { href: '/notes', text: texts.home }
    return reply.message({ title: texts.all, message: store.all().join(', '), nextStep })
  })

  const form = app.defineForm({
    page: '/notes/new',
    template: 'form',
    data({ texts }) {
      const { title, label, save } = texts.notes.form
      return { title, inputs: [{ name: 'note', label, required: true }], button: save }
    },
  })
  app.get('/notes/new', form.show)
  app.post(
    '/notes/new',
    form.route,
    form.submit(async (request, reply, { fields, once }) => {
      const { note } = fields
      if (!note) throw new FieldError({ note: [texts => texts.notes.form.nothingTyped] })
      const saved = await once(async () => {
        store.add(findUserId(request), note)
        return note
      })
      if (saved !== note) throw new FormUsed(texts => texts.notes.form.used)
      return reply.redirect('/notes', 303)
    }),
  )

  await app.register(jsonNotes, { store })
}

const jsonNotes: FastifyPluginAsyncJsonSchemaToTs<{ Options: NotesOptions }> = async (app, { store }) => {
  app.addContentTypeParser('application/json', { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
  app.get('/notes.json', async request => ({ notes: store.find(findUserId(request), '') }))
  app.post('/notes.json', { schema: { body: newNote } }, async (request, reply) => {
    store.add(findUserId(request), request.body.note)
    return reply.code(201).send({ notes: store.find(findUserId(request), '') })
  })
}

export function findUserId({ visitor }: FastifyRequest): string {
  if (visitor.userId) return visitor.userId
  throw new PublicError('no_user_id', 403, texts => texts.notes.noUserId)
}

function requireModerator({ visitor }: FastifyRequest): void {
  if (visitor.data.role === 'moderator') return
  throw new PublicError('not_a_moderator', 403, texts => texts.notes.notAModerator)
}
