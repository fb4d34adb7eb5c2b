// Gets, uses and checks codes and tokens of the seeded user and client.
import type { LightMyRequestResponse } from 'fastify'
import { exchange, logIn, type StartParameters } from './browser.ts'
import type { TestSandbox } from './build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from './call-api.ts'

export interface Tokens {
  access_token: string
  refresh_token: string
}

type Portal = Pick<TestSandbox, 'portal'>

export async function getCode(sandbox: Portal, parameters: StartParameters = {}): Promise<string> {
  return (await logIn(sandbox, parameters)).get('code') ?? ''
}

/** Makes a new login, and resolves to its tokens. */
export async function getTokens(sandbox: Portal): Promise<Tokens> {
  return (await exchange(sandbox, { code: await getCode(sandbox) })).json()
}

/** Renews tokens with a refresh token. `fields` replaces fields of the form. The value undefined leaves a field out. */
export async function refresh(
  sandbox: Portal,
  refreshToken: string | undefined,
  fields: Record<string, string | undefined> = {},
): Promise<LightMyRequestResponse> {
  return exchange(sandbox, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    redirect_uri: undefined,
    state: undefined,
    ...fields,
  })
}

/**
 * Repeats a request while the answer is 503. A request waits at most one second for a connection to the database. If a
 * test sends many requests at the same time on a busy machine, the last requests can wait longer.
 */
export async function untilNotBusy(send: () => Promise<LightMyRequestResponse>): Promise<LightMyRequestResponse> {
  const answer = await send()
  return answer.statusCode === 503 ? untilNotBusy(send) : answer
}

/** Returns whether the application API accepts the access token. */
export async function isAccepted({ api }: Pick<TestSandbox, 'api'>, accessToken: string): Promise<boolean> {
  const answer = await api.inject({ url: '/apps/v1', headers: { authorization: `Bearer ${accessToken}` } })
  return answer.statusCode === 200
}

/** Creates another application. Returns the client_id and the client_secret of the application's client. */
export async function makeOtherClient(sandbox: TestSandbox) {
  const { call, groupId } = await callAsDeveloper(sandbox)
  const { client } = (await call('POST', '/apps/v1', makeCreateBody(groupId))).json()
  return { client_id: client.clientId, client_secret: client.clientSecrets[0] }
}
