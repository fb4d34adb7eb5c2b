// The offline job of the example: it counts the applications of visitors who are away. PostgreSQL keeps their tokens.
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import type { Connection } from '../../../src/client/sign-in/sign-in.ts'
import { applicationList, findUserId, type Store } from './notes.ts'
import { notesTexts } from './texts.ts'

/** The methods of `Pool` (package `pg`) that this file uses. */
type Query = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>
export type Pool = { query: Query; connect(): Promise<{ query: Query; release(): void }> }

/** Call this once before the server starts. */
export async function makeTable(pool: Pool): Promise<void> {
  await pool.query(`create table if not exists connections (
    user_id text primary key,
    access_token text not null,
    refresh_token text not null,
    expires_at timestamptz not null
  )`)
}

export async function saveConnection(pool: Pool, connection: Connection): Promise<void> {
  const { userId, accessToken, refreshToken, expiresAt } = connection
  await pool.query(
    `insert into connections values ($1, $2, $3, $4) on conflict (user_id)
     do update set access_token = $2, refresh_token = $3, expires_at = $4`,
    [userId, accessToken, refreshToken, expiresAt],
  )
}

/** Returns undefined if the visitor has to connect again, or if the portal does not answer now. */
export async function freshAccessToken(app: FastifyInstance, pool: Pool, userId: string): Promise<string | undefined> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    // Other workers wait at this line until this worker has committed. Then they find the new tokens.
    const { rows } = await client.query('select * from connections where user_id = $1 for update', [userId])
    const token = rows[0] && (await renewIfDue(app, client.query.bind(client), rows[0]))
    await client.query('commit')
    return token
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function renewIfDue({ signIn }: FastifyInstance, query: Query, row: Record<string, unknown>) {
  if ((row.expires_at as Date).getTime() > Date.now() + 60_000) return String(row.access_token)
  const renewal = await signIn.renewConnection(String(row.refresh_token))
  if (renewal.outcome === 'refused') await query('delete from connections where user_id = $1', [row.user_id])
  if (renewal.outcome !== 'renewed') return undefined
  const { accessToken, refreshToken, expiresAt } = renewal
  await query('update connections set access_token = $2, refresh_token = $3, expires_at = $4 where user_id = $1', [
    row.user_id,
    accessToken,
    refreshToken,
    expiresAt,
  ])
  return accessToken
}

/** Counts the applications of every connected visitor. Several processes may run this job at the same time. */
export async function countApplications(app: FastifyInstance, pool: Pool, store: Store): Promise<void> {
  const { rows } = await pool.query('select user_id from connections')
  for (const { user_id } of rows) {
    const userId = String(user_id)
    try {
      const accessToken = await freshAccessToken(app, pool, userId)
      if (!accessToken) continue
      const { ItemList } = await app.signIn.connectionApi(accessToken).get('/apps/v1', applicationList)
      store.add(userId, notesTexts.counted(ItemList.length))
    } catch (error) {
      // A problem with one visitor must not delay the other visitors.
      app.log.error({ event: 'count_failed', cause: (error as Error).message })
    }
  }
}

type OfflineOptions = { pool: Pool; store: Store }

/** A plugin for the signed-in scope. A visitor uses its routes to allow or end the job. */
export const offline: FastifyPluginAsync<OfflineOptions> = async (app, { pool, store }) => {
  app.post('/connect', (request, reply) => app.signIn.connect(request, reply, { returnTo: '/notes/live' }))

  app.post('/disconnect', async (request, reply) => {
    const remove = 'delete from connections where user_id = $1 returning refresh_token'
    const { rows } = await pool.query(remove, [findUserId(request)])
    for (const row of rows) await app.signIn.revokeConnection(String(row.refresh_token))
    return reply.redirect('/notes/live', 303)
  })

  const timer = setInterval(() => void countApplications(app, pool, store), 24 * 60 * 60 * 1000).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

export async function isConnected(pool: Pool, userId: string): Promise<boolean> {
  const { rows } = await pool.query('select 1 from connections where user_id = $1', [userId])
  return rows.length > 0
}
