// Makes steps and logins as the laboratory records them, for tests of the laboratory's notices and verdicts.
import { randomBytes } from 'node:crypto'
import { stepFaultOf } from '../../../../src/sandbox/lab/faults/orders.ts'
import { readOrder } from '../../../../src/sandbox/lab/faults/read-order.ts'
import { createHide } from '../../../../src/sandbox/lab/record/hide.ts'
import { recordStep } from '../../../../src/sandbox/lab/record/record.ts'
import type { LabStep, RecordedLogin, RecordedStep, StepFault } from '../../../../src/sandbox/lab/record/recorded.ts'

const hide = createHide()
export const start = Date.parse('2026-03-01T12:00:00Z')

type Sent = { query?: Record<string, string>; body?: object; headers?: Record<string, string> }
export type More = Pick<Partial<LabStep>, 'reason' | 'about' | 'fault' | 'checks'> & {
  atMs?: number
  durationMs?: number
  method?: string
  route?: string
  status?: number
  answer?: Record<string, unknown>
  /** The value of the answer's Location header. */
  location?: string
}

let count = 0
export function step(
  kind: LabStep['kind'],
  { query = {}, body = {}, headers = {} }: Sent = {},
  more: More = {},
): RecordedStep {
  const {
    atMs = 0,
    durationMs = 1,
    method = 'GET',
    route = '/',
    status = 200,
    answer = {},
    reason,
    about = {},
    fault,
    checks = [],
    location,
  } = more
  return recordStep(
    {
      id: `step-${++count}`,
      requestId: `request-${count}`,
      at: new Date(start + atMs),
      listener: kind === 'api' ? 'api' : 'portal',
      kind,
      route,
      durationMs,
      request: { method, url: `/?${new URLSearchParams(query)}`, headers, body },
      response: { status, headers: location === undefined ? {} : { location }, body: answer },
      about,
      checks,
      reason,
      fault,
    },
    hide,
  )
}

/** Returns the fault that the laboratory records if a developer orders this fault. */
export const fault = (name: string, options: Record<string, unknown> = {}): StepFault =>
  stepFaultOf({ id: '1', ...readOrder({ fault: name, options }) })

export const login = (...steps: RecordedStep[]): RecordedLogin => ({
  id: `login-${++count}`,
  clientId: 'app-1',
  steps,
  leftOut: 0,
})
export const random = () => randomBytes(16).toString('base64url')
