// Calls the laboratory over HTTP, as a test in any language would.

export interface LabLogin {
  id: string
  outcome: string
  steps: { kind: string; fault: { name: string } | null; reason: string | null; response: { status: number } }[]
  noticed: { id: string }[]
}

/**
 * Returns functions that call the laboratory. If the laboratory refuses a call, the error contains the laboratory's
 * answer.
 */
export function openLab(labUrl: string) {
  async function ask<Answer>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${labUrl}/lab/v1/${path}`, {
      method,
      headers: { connection: 'close', ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return text === '' ? (undefined as Answer) : JSON.parse(text)
  }

  return {
    ask,

    /** Orders a fault. By default, the fault happens once. `more` can contain another number of times. */
    order: (fault: string, more: object = {}) => ask<{ id: string }>('POST', 'faults', { fault, ...more }),

    removeFaults: () => ask('DELETE', 'faults'),

    /** Resolves to the newest login of a client. */
    async lastLogin(clientId: string): Promise<LabLogin> {
      const { logins } = await ask<{ logins: { id: string }[] }>('GET', `logins?clientId=${clientId}`)
      if (!logins[0]) throw new Error(`the laboratory knows no login of ${clientId}`)
      return ask('GET', `logins/${logins[0].id}`)
    },
  }
}
