// Calls the laboratory of a test's sandbox as a script would.
import type { LightMyRequestResponse } from 'fastify'
import { buildTestSandbox, type TestSandbox } from './build-test-sandbox.ts'

export const labConfig = { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined }

export type CallLab = (
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
) => Promise<LightMyRequestResponse>

/** A sandbox with its laboratory, and a function that calls it. */
export async function buildTestLab(
  t: Parameters<typeof buildTestSandbox>[0],
  options: Parameters<typeof buildTestSandbox>[1] = {},
): Promise<{ sandbox: TestSandbox; lab: CallLab }> {
  const sandbox = await buildTestSandbox(t, { lab: labConfig, ...options })
  const lab: CallLab = async (method, path, body) =>
    sandbox.lab!.inject({
      method,
      url: `/lab/v1/${path}`,
      headers: { host: '127.0.0.1:4002', 'content-type': 'application/json' },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
  return { sandbox, lab }
}
