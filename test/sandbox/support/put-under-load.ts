// Signs in, exchanges codes, renews tokens and creates applications without pause, and records every answer. Afterwards
// a test compares these answers with the database.
import { limits } from '../../../src/sandbox/groups/limits.ts'
import { type Browser, exchange, locationOf, openBrowser, signIn, startUrl } from './browser.ts'
import { seeded } from './build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from './call-api.ts'
import { createGroup } from './group-calls.ts'
import type { SandboxProcess } from './start-sandbox.ts'

/** A signed-in user who has given consent. All sandbox processes on the same database know this user. */
export interface Visitor {
  browser: Browser
  accessToken: string
  /**
   * The ids of the user's groups. The user has the largest allowed number of groups, because one group can have only
   * 100 applications.
   */
  groupIds: string[]
}

/**
 * The changes that the sandbox has confirmed. If a request got no answer, its change may be stored completely or not at
 * all, but not in part.
 */
export interface Promises {
  applications: { id: string; clientSecret: string; tokens: string[] }[]
  /** Each issued code, and whether its exchange got tokens, a refusal, or no answer. */
  codes: Map<string, 'redeemed' | 'refused' | 'unanswered'>
  accessTokens: string[]
  /** Refresh tokens that were not used yet, or whose renewal got no answer. */
  refreshTokens: string[]
  /** Unexpected answers, as text. */
  surprises: string[]
  answers: number
  unanswered: number
}

// A user has at most 100 grants for one client, and two loads may run at the same time.
const mostLogins = 40

export async function prepareVisitor(sandbox: SandboxProcess): Promise<Visitor> {
  const developer = await callAsDeveloper(sandbox)
  const groupIds = [developer.groupId]
  while (groupIds.length < limits.groupsOfUser) groupIds.push(await createGroup(developer))
  const browser = openBrowser(sandbox)
  await signIn(browser)
  return { browser, accessToken: developer.accessToken, groupIds }
}

/** Starts the load. `stop` ends it, and resolves when the last request was answered or its connection has broken. */
export function putUnderLoad(
  sandbox: SandboxProcess,
  visitor: Visitor,
  { workers = 3 }: { workers?: number } = {},
): { stop(): Promise<Promises> } {
  const promises: Promises = {
    applications: [],
    codes: new Map(),
    accessTokens: [],
    refreshTokens: [],
    surprises: [],
    answers: 0,
    unanswered: 0,
  }
  let isStopping = false
  const loop = async (round: () => Promise<void>, isWanted = () => true) => {
    while (!isStopping && isWanted()) {
      try {
        await round()
        promises.answers += 1
      } catch (error) {
        if ((error as { code?: string }).code === undefined) throw error
        promises.unanswered += 1
        // The process has ended.
        if ((error as { code?: string }).code === 'ECONNREFUSED') return
      }
    }
  }
  const running = Array.from({ length: workers }, () => [
    loop(() => createOne(sandbox, visitor, promises)),
    loop(
      () => logInOnce(sandbox, visitor, promises),
      () => promises.codes.size < mostLogins,
    ),
  ]).flat()
  return {
    async stop() {
      isStopping = true
      await Promise.all(running)
      return promises
    },
  }
}

async function createOne({ api }: SandboxProcess, visitor: Visitor, promises: Promises): Promise<void> {
  const headers = { authorization: `Bearer ${visitor.accessToken}` }
  const payload = makeCreateBody(visitor.groupIds[promises.applications.length % visitor.groupIds.length] ?? '')
  const answer = await api.inject({ method: 'POST', url: '/apps/v1', headers, payload })
  if (answer.statusCode !== 201) return surprised(promises, 'create', answer)
  const { client, tokens } = answer.json()
  promises.applications.push({
    id: client.clientId,
    clientSecret: client.clientSecrets[0],
    tokens: tokens.map(({ token }: { token: string }) => token),
  })
}

/** Removes the applications that a load has created, so that the next load has room for new applications. */
export async function removeApplications({ api }: SandboxProcess, visitor: Visitor, { applications }: Promises) {
  const headers = { authorization: `Bearer ${visitor.accessToken}` }
  for (const { id } of applications) {
    const { statusCode, body } = await api.inject({ method: 'DELETE', url: `/apps/v1/${id}`, headers })
    if (statusCode !== 204) throw new Error(`not removed: ${statusCode} ${body}`)
  }
}

async function logInOnce(sandbox: SandboxProcess, visitor: Visitor, promises: Promises): Promise<void> {
  const browser = visitor.browser.copy(sandbox.portal)
  const start = await browser.get(startUrl())
  if (start.statusCode !== 303) return surprised(promises, 'start', start)
  const code = new URL(locationOf(start)).searchParams.get('code') ?? ''
  promises.codes.set(code, 'unanswered')
  const first = await exchange(sandbox, { code })
  promises.codes.set(code, first.statusCode === 200 ? 'redeemed' : 'refused')
  if (first.statusCode !== 200) return surprised(promises, 'exchange', first)
  const { access_token: accessToken, refresh_token: refreshToken } = first.json()
  promises.accessTokens.push(accessToken)
  promises.refreshTokens.push(refreshToken)
  const second = await refresh(sandbox, refreshToken)
  if (second.statusCode !== 200) return surprised(promises, 'refresh', second)
  promises.accessTokens.push(second.json().access_token)
  promises.refreshTokens.splice(promises.refreshTokens.indexOf(refreshToken), 1, second.json().refresh_token)
}

/** Renews with a refresh token of the seeded client. */
export function refresh({ portal }: Pick<SandboxProcess, 'portal'>, refreshToken: string) {
  return portal.inject({
    method: 'POST',
    url: '/api/exchangeToken',
    payload: {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: seeded.clientId,
      client_secret: seeded.clientSecret,
    },
  })
}

function surprised(promises: Promises, what: string, answer: { statusCode: number; body: string }): void {
  promises.surprises.push(`${what}: ${answer.statusCode} ${answer.body.slice(0, 200)}`)
}
