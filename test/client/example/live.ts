// The live page of the example: its script calls routes with fetch, listens to events, and uploads a file.
import { on } from 'node:events'
import { Readable } from 'node:stream'
import fastifyMultipart from '@fastify/multipart'
import type { FastifyPluginAsync } from 'fastify'
import { PublicError } from '../../../src/client/errors.ts'
import { findUserId, type Store } from './notes.ts'
import { isConnected, type Pool } from './offline.ts'

type LiveOptions = { store: Store; pool: Pool | undefined }

export const livePage: FastifyPluginAsync<LiveOptions> = async (app, { store, pool }) => {
  app.get('/notes/live', async (request, reply) =>
    reply.page('live', {
      title: request.texts.notes.live,
      hasJob: pool !== undefined,
      isConnected: pool && (await isConnected(pool, findUserId(request))),
    }),
  )

  const closing = new AbortController()
  app.addHook('preClose', async () => closing.abort())
  app.get('/notes/events', async (request, reply) => {
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(25_000)])
    reply.type('text/event-stream').header('x-accel-buffering', 'no')
    return Readable.from(latestNotes(store, findUserId(request), signal))
  })

  await app.register(uploads, { store })
}

/**
 * The stream ends when `signal` is aborted. After a second, the browser opens a new stream, and the client checks the
 * session again.
 */
async function* latestNotes(store: Store, userId: string, signal: AbortSignal) {
  const latest = () => `data: ${JSON.stringify(store.find(userId, ''))}\n\n`
  try {
    const changes = on(store.changes, userId, { signal })
    yield `retry: 1000\n${latest()}`
    for await (const _ of changes) yield latest()
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** This is a separate plugin, so that no other route accepts uploads. */
const uploads: FastifyPluginAsync<{ store: Store }> = async (app, { store }) => {
  await app.register(fastifyMultipart, { limits: { files: 1, fileSize: 5_000_000 } })
  const limits = { bodyLimit: 5_100_000, config: { deadlineMs: 120_000 } }
  app.post('/notes/import', limits, async (request, reply) => {
    const upload = await request.file()
    if (!upload) throw new PublicError('no_file', 422, texts => texts.notes.noFile)
    const lines = (await upload.toBuffer()).toString().split('\n')
    const added = lines.map(line => line.trim()).filter(Boolean)
    for (const note of added) store.add(findUserId(request), note)
    return reply.code(201).send({ added: added.length })
  })
}
