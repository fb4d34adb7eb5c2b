// A sandbox with a laboratory in which a test can order faults and read the recorded steps.
import { setImmediate } from 'node:timers/promises'
import type { Test } from 'tap'
import { buildTestSandbox, type TestSandbox } from '../../support/build-test-sandbox.ts'
import { checkLabAnswer } from '../../support/call-lab.ts'

const lab = { host: '127.0.0.1', port: 0, urls: ['http://127.0.0.1:4002'], token: undefined }

export interface LabFault {
  id: string
  fault: string
  status: 'waiting' | 'used up' | 'dropped'
  consumed: number
  requestIds: string[]
  message?: string
}

export interface LabStep {
  id: string
  kind: string
  request: { method: string; body: Record<string, unknown> }
  response: { status: number }
  fault: { id: string; name: string; acted: string } | null
  reason: string | null
}

export type FaultLab = Awaited<ReturnType<typeof buildFaultLab>>

export async function buildFaultLab(t: Test, options: Parameters<typeof buildTestSandbox>[1] = {}) {
  const sandbox: TestSandbox = await buildTestSandbox(t, { lab, ...options })
  /** Throws if the answer does not match the laboratory's OpenAPI document. */
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) => {
    const answer = await sandbox.lab!.inject({
      method,
      url,
      headers: { host: '127.0.0.1' },
      ...(payload && { payload }),
    })
    await checkLabAnswer(sandbox.lab!, { method, url }, answer)
    return answer
  }
  const show = async (id: string): Promise<LabFault> => (await call('GET', `/lab/v1/faults/${id}`)).json()
  return {
    sandbox,
    call,

    /** Orders a fault. Throws if the laboratory refuses the order. */
    async order(fault: string, more: object = {}): Promise<LabFault> {
      const answer = await call('POST', '/lab/v1/faults', { fault, ...more })
      if (answer.statusCode !== 201) throw new Error(answer.body)
      return answer.json()
    },

    show,

    /** Resolves when a request has consumed the fault. */
    async untilConsumed(id: string): Promise<void> {
      while ((await show(id)).consumed === 0) await setImmediate()
    },

    /** Returns all recorded steps. The steps of the newest login come first. */
    async steps(): Promise<LabStep[]> {
      const { logins } = (await call('GET', '/lab/v1/logins')).json() as { logins: { id: string }[] }
      const details = await Promise.all(
        logins.map(async ({ id }) => (await call('GET', `/lab/v1/logins/${id}`)).json()),
      )
      return details.flatMap(({ steps }) => steps)
    },
  }
}
