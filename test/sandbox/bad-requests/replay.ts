// Sends every bad request to new sandboxes, and returns the answers without random values, so that two runs can be
// compared.
import type { FastifyInstance, HTTPMethods, LightMyRequestResponse } from 'fastify'
import { forgetAllFailures } from '../../../src/sandbox/store/failures.ts'
import { buildTestSandbox, makeSqliteDatabase, seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import { labConfig } from '../support/call-lab.ts'
import { type CheckAnswer, readDescription } from '../support/check-answer.ts'
import { apiRequests, setApiScene } from './api-requests.ts'
import type { BadRequest } from './bad-values.ts'
import { labRequests, setLabScene } from './lab-requests.ts'
import { portalRequests, setPortalScene } from './portal-requests.ts'

export interface Answer {
  status: number
  /** The important headers that most answers do not have. The value null means that a usual header is missing. */
  headers?: Record<string, string | null>
  body?: unknown
}

/** The headers of almost every JSON answer. */
const usualHeaders: Record<string, string> = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}
const otherHeaders = ['www-authenticate', 'retry-after', 'allow', 'etag', 'location', 'pragma']

/** Longer strings are shortened to this length. */
const longestText = 300

type Test = Parameters<typeof buildTestSandbox>[0]

/** An answer, with the names of all requests that get this answer. */
export interface Recorded extends Answer {
  requests: string[]
}

/**
 * Sends all bad requests, and returns the answers, keyed by the names of the requests. Set `makeDatabase` for a
 * database other than SQLite.
 */
export async function replayAll(t: Test, makeDatabase = makeSqliteDatabase): Promise<Record<string, Answer>> {
  const answers: Record<string, Answer> = {}
  const replay = async (
    sandbox: TestSandbox,
    listener: 'api' | 'portal' | 'lab',
    requests: Iterable<BadRequest>,
    scene: object,
    check: CheckAnswer = () => {},
  ) => {
    for (const { name, ...request } of requests) {
      const key = `${listener}: ${name}`
      if (answers[key]) throw new Error(`two requests are called ${key}`)
      // The sandbox counts failures, and after too many failures every answer would be 429.
      await sandbox.store.write(forgetAllFailures)
      // Move the clock of this sandbox by a millisecond.
      sandbox.passTime(1)
      const answer = await send(sandbox[listener]!, request)
      check(request.method, request.url, answer)
      answers[key] = toAnswer(answer, scene)
    }
  }
  const ofApi = await buildTestSandbox(t, { databaseUrl: await makeDatabase(t) })
  const apiScene = await setApiScene(ofApi)
  await replay(ofApi, 'api', apiRequests(apiScene), { ...apiScene.ids, ...seeded })
  const ofPortal = await buildTestSandbox(t, { databaseUrl: await makeDatabase(t) })
  const portalScene = await setPortalScene(ofPortal)
  // This check throws if an answer is missing from the OpenAPI document of the portal's calls.
  const check = await readDescription(ofPortal.portal, { url: '/api/openapi.json' })
  await replay(ofPortal, 'portal', portalRequests(portalScene), { ...portalScene, ...seeded }, check)
  const ofLab = await buildTestSandbox(t, { lab: labConfig, databaseUrl: await makeDatabase(t) })
  const labScene = await setLabScene(ofLab)
  await replay(ofLab, 'lab', labRequests(labScene), { ...labScene, ...seeded })
  return answers
}

function send(server: FastifyInstance, request: Omit<BadRequest, 'name'>): Promise<LightMyRequestResponse> {
  return server.inject({ ...request, method: request.method as HTTPMethods })
}

function toAnswer({ statusCode, headers, body }: LightMyRequestResponse, scene: object): Answer {
  const unusual = Object.entries(usualHeaders).flatMap(([name, value]) => {
    const actual = headers[name]
    return actual === value || (name === 'content-type' && body === '') ? [] : [[name, actual ?? null]]
  })
  const others = otherHeaders.flatMap(name => (headers[name] === undefined ? [] : [[name, headers[name]]]))
  const recorded = Object.fromEntries([...unusual, ...others])
  return {
    status: statusCode,
    ...(Object.keys(recorded).length > 0 && { headers: recorded }),
    ...(body !== '' && { body: shortenAll(readBody(hideRandom(body, scene))) }),
  }
}

function readBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

function shortenAll(value: unknown): unknown {
  if (typeof value === 'string') return shorten(value)
  if (Array.isArray(value)) return value.map(shortenAll)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortenAll(one)]))
}

function shorten(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText)}…` : text
}

/** Replaces the ids and tokens of the test with their names, and each random value with a word for its kind. */
function hideRandom(json: string, scene: object): string {
  let text = json
  for (const [name, value] of Object.entries(scene))
    if (typeof value === 'string' && value.length > 20) text = text.replaceAll(value, `<${name}>`)
  return text
    .replaceAll(/[\w-]{8}-[\w-]{4}-[\w-]{4}-[\w-]{4}-[\w-]{12}/g, id => (id.startsWith('6f2b1c9e') ? id : '<id>'))
    .replaceAll(/ey[\w-]+\.ey[\w-]+\.[\w-]+/g, '<token>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:Z|\+00:00)/g, '<time>')
    .replaceAll(/"(clientSecrets?|CLIENT_SECRET|refreshToken|password)":(\[?)"[\w-]{16,43}"/g, '"$1":$2"<secret>"')
    .replaceAll(/([?&]code=)\w{30}/g, '$1<code>')
    .replaceAll(/(person-|Group |Person )[0-9a-f]{4,16}\b/g, '$1<random>')
}
