// Checks that the sandbox still has every change that it has confirmed, and looks for half-finished changes.
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { exchange } from './browser.ts'
import { type Promises, refresh } from './put-under-load.ts'
import type { SandboxProcess } from './start-sandbox.ts'

/** Resolves to one sentence for each change that the sandbox has confirmed but no longer has. */
export async function findBrokenPromises(sandbox: SandboxProcess, promises: Promises): Promise<string[]> {
  const { portal, api } = sandbox
  const broken = [...promises.surprises]
  // Check the refresh tokens first, because a replaced refresh token can be used again for only ten seconds.
  for (const refreshToken of promises.refreshTokens) {
    const { statusCode } = await refresh(sandbox, refreshToken)
    if (statusCode !== 200) broken.push(`a renewal with an issued refresh token got ${statusCode}`)
  }
  for (const { id, clientSecret, tokens } of promises.applications) {
    for (const token of tokens) {
      const headers = { authorization: `Bearer ${token}` }
      const { statusCode, body } = await api.inject({ url: `/apps/v1/${id}`, headers })
      if (statusCode !== 200)
        broken.push(`application ${id} was created, but a request for it now got ${statusCode} ${body}`)
    }
    // The code does not exist, so the error shows whether the portal accepts the secret.
    const payload = { grant_type: 'authorization_code', code: 'none', redirect_uri: 'none', client_id: id }
    const url = '/api/exchangeToken'
    const answer = await portal.inject({ method: 'POST', url, payload: { ...payload, client_secret: clientSecret } })
    if (answer.json().error !== 'invalid_grant') broken.push(`a request with the secret of ${id} got ${answer.body}`)
  }
  for (const token of promises.accessTokens) {
    const { statusCode } = await api.inject({ url: '/apps/v1/none', headers: { authorization: `Bearer ${token}` } })
    if (statusCode !== 404) broken.push(`a call with an issued access token got ${statusCode}`)
  }
  // Check the codes last, because a code that is used twice ends its token family.
  for (const [code, outcome] of promises.codes) {
    const statuses = [(await exchange(sandbox, { code })).statusCode, (await exchange(sandbox, { code })).statusCode]
    const allowed = outcome === 'unanswered' ? ['200,401', '401,401'] : ['401,401']
    if (!allowed.includes(String(statuses))) broken.push(`two exchanges of a code (${outcome}) got ${statuses}`)
  }
  return broken
}

const halves = {
  'an application without a secret': `select count(*) as found from applications
    where not exists (select 1 from client_secrets where application_id = applications.id)`,
  'an application without redirect URIs': "select count(*) as found from applications where redirect_uris = ''",
  'an application that was made through the API and does not have two access tokens': `select count(*) as found from applications
    where name = 'Weather' and (select count(*) from app_access_tokens where application_id = applications.id) <> 2`,
  'a secret without its application': `select count(*) as found from client_secrets
    where not exists (select 1 from applications where id = client_secrets.application_id)`,
  'an access token without its application': `select count(*) as found from app_access_tokens
    where not exists (select 1 from applications where id = app_access_tokens.application_id)`,
  'a grant without its application': `select count(*) as found from grants
    where not exists (select 1 from applications where id = grants.application_id)`,
  'a code that is only partly redeemed': `select count(*) as found from grants
    where (redeemed_at is null) <> (refresh_token_hash is null)`,
  'a refresh token whose predecessors are not all stored': `select count(*) as found from grants
    where case when generation < 100 then generation else 100 end <> (select count(*) from spent_refresh_tokens where grant_id = grants.id)`,
}

/**
 * Resolves to one sentence for each half-finished change in the database, and for each kind of damage to the database
 * file.
 */
export async function findHalves(databaseUrl: string): Promise<string[]> {
  const query = await openDatabase(databaseUrl)
  const found: string[] = []
  for (const [name, statement] of Object.entries(halves)) {
    const [row] = await query.all(statement)
    if (Number(row?.found) > 0) found.push(`${row?.found} × ${name}`)
  }
  if (databaseUrl.startsWith('sqlite:')) {
    const check = await query.all('pragma integrity_check')
    if (check[0]?.integrity_check !== 'ok') found.push(`damage: ${JSON.stringify(check)}`)
    const orphans = await query.all('pragma foreign_key_check')
    if (orphans.length > 0) found.push(`foreign keys: ${JSON.stringify(orphans)}`)
  }
  await query.close()
  return found
}

async function openDatabase(databaseUrl: string) {
  if (databaseUrl.startsWith('sqlite:')) {
    const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true })
    return {
      all: async (text: string) => database.prepare(text).all() as Record<string, unknown>[],
      close: async () => database.close(),
    }
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return {
    all: async (text: string) => (await client.query(text)).rows as Record<string, unknown>[],
    close: () => client.end(),
  }
}
