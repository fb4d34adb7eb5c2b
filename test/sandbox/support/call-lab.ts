// Calls the laboratory of a test sandbox as a script would.
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { buildTestSandbox, type TestSandbox } from './build-test-sandbox.ts'
import { type CheckAnswer, readDescription } from './check-answer.ts'

export const labConfig = { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined }

export type CallLab = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
) => Promise<LightMyRequestResponse>

const local = { host: '127.0.0.1:4002', 'content-type': 'application/json' }
let description: Promise<CheckAnswer> | undefined

/**
 * Throws if the answer does not match the laboratory's own OpenAPI document. All sandboxes of a process have the same
 * document.
 */
export async function checkLabAnswer(
  server: FastifyInstance,
  call: { method?: string; url: string },
  answer: LightMyRequestResponse,
): Promise<void> {
  description ??= readDescription(server, { url: '/lab/v1/openapi.json', headers: local })
  ;(await description)(call.method ?? 'GET', call.url, answer)
}

/**
 * Builds a sandbox with a laboratory, and a function that calls the laboratory and checks every answer against its
 * OpenAPI document.
 */
export async function buildTestLab(
  t: Parameters<typeof buildTestSandbox>[0],
  options: Parameters<typeof buildTestSandbox>[1] = {},
): Promise<{ sandbox: TestSandbox; lab: CallLab }> {
  const sandbox = await buildTestSandbox(t, { lab: labConfig, ...options })
  const lab: CallLab = async (method, path, body) => {
    const call = { method, url: `/lab/v1/${path}` }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const answer = await sandbox.lab!.inject({ ...call, headers: local, ...payload })
    await checkLabAnswer(sandbox.lab!, call, answer)
    return answer
  }
  return { sandbox, lab }
}
