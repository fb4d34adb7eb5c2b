// Reads the tokens in an answer of the token endpoint.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'

export function tokensOf({ response }: LabStep): { access_token?: unknown; refresh_token?: unknown } | undefined {
  try {
    const body = typeof response.body === 'string' ? (JSON.parse(response.body) as Record<string, unknown>) : undefined
    return body && 'access_token' in body ? body : undefined
  } catch {
    return undefined
  }
}
