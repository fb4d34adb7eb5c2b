// Ways in which a mistake can change the small client's calls to the platform. Several mistakes need these changes.
import { setTimeout as pause } from 'node:timers/promises'
import { type Behaviour, correct } from './behaviour.ts'
import { behaving } from './changes.ts'
import { type Call, isRecord } from './platform.ts'
import { isOfApi } from './requests.ts'
import { PlatformError, Refusal, type Visit } from './visit.ts'

export type Answered = [status: number, answer: unknown]

/** Uses the function `act` for the calls that `isMet` selects. */
export function sendWith(
  isMet: (call: Call) => boolean,
  act: (visit: Visit, call: Call, send: () => Promise<Answered>) => Promise<Answered>,
): Partial<Behaviour> {
  return {
    send(visit, call) {
      const send = () => correct.send(visit, call)
      return isMet(call) ? act(visit, call, send) : send()
    },
  }
}

/** Changes the answers to the calls that `isMet` selects. */
export const onAnswer = (isMet: (call: Call) => boolean, change: (answered: Answered, visit: Visit) => Answered) =>
  sendWith(isMet, async (visit, _, send) => change(await send(), visit))

/** If an error answer has a Retry-After of at most two seconds, the client waits that long and repeats the call. */
export const repeatsAfterRetryAfter = (isMet: (call: Call) => boolean) =>
  sendWith(isMet, async (visit, call) => {
    let seconds = Number.NaN
    const readBody: Behaviour['readBody'] = (response, most) => {
      seconds = Number(response.headers.get('retry-after') ?? 'none')
      return correct.readBody(response, most)
    }
    const ask = () => correct.send(behaving(visit, { readBody }), call)
    const answered = await ask()
    if (answered[0] < 400 || !(seconds <= 2)) return answered
    await pause(seconds * 1000)
    return ask()
  })

/** If `isMet` selects an answer, the client reads the whole answer without a limit. */
export const unlimited = (isMet: (call: Call, status: number) => boolean): Partial<Behaviour> => ({
  send(visit, call) {
    const readBody: Behaviour['readBody'] = (response, most) =>
      isMet(call, response.status) ? response.text() : correct.readBody(response, most)
    return correct.send(behaving(visit, { deadlineMs: 8000, readBody }), call)
  },
})

/** For the calls that `isLate` selects, the deadline applies only until the headers have arrived. */
export const deadlineOfHeaders = (
  isLate: (call: Call, status: number) => boolean,
  isMet = isOfApi,
): Partial<Behaviour> => ({
  async send({ behaviour, ...visit }, call) {
    if (!isMet(call)) return correct.send({ behaviour, ...visit }, call)
    const over = new AbortController()
    const timer = setTimeout(() => over.abort(), behaviour.deadlineMs)
    try {
      const { method, url, headers, body } = call
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: over.signal,
        ...(body !== undefined && { body }),
      })
      if (isLate(call, response.status)) clearTimeout(timer)
      const text = await behaviour.readBody(response, call.most)
      return [
        response.status,
        text === '' ? undefined : behaviour.parse(text, response.headers.get('content-type') ?? ''),
      ]
    } catch (error) {
      throw error instanceof PlatformError ? error : new PlatformError(504)
    } finally {
      clearTimeout(timer)
    }
  },
})

/** If `act` throws an error, the client answers like a server that does not catch errors: `Internal Server Error`. */
export const crashing = (act: (call: Call, answer: unknown, status: number) => unknown): Partial<Behaviour> => ({
  async send(visit, request) {
    const answered = await correct.send(visit, request)
    try {
      act(request, answered[1], answered[0])
    } catch {
      throw new Error('not caught')
    }
    return answered
  },
  statusFor(error) {
    if (!(error instanceof Refusal)) throw error
    return error.status
  },
  onCrash: (_error, response) => void response.writeHead(500).end('Internal Server Error'),
})

/** For each call that `isMeant` selects, copies the headers of the API's response into the answer to the browser. */
export function passingBack(isMeant: (request: Call) => boolean): Partial<Behaviour> {
  const copied = new WeakMap<Visit['setCookies'], string>()
  return {
    send(visit, request) {
      if (!isMeant(request)) return correct.send(visit, request)
      const readBody: Behaviour['readBody'] = (response, most) => {
        copied.set(visit.setCookies, response.headers.get('x-conformance-mark') ?? '')
        return correct.readBody(response, most)
      }
      return correct.send(behaving(visit, { readBody }), request)
    },
    async aroundRequest(visit, next) {
      const answer = await next()
      const mark = copied.get(visit.setCookies)
      return mark ? { ...answer, headers: { ...answer.headers, 'x-conformance-mark': mark } } : answer
    },
  }
}

/** Sends a form to the token endpoint. If the portal refuses the form, the client shows the error_description. */
export async function askPortal(visit: Visit, form: URLSearchParams): Promise<Record<string, unknown>> {
  const [status, answer] = await correct.send(visit, {
    method: 'POST',
    url: `${visit.settings.loginUrl}/api/exchangeToken`,
    headers: correct.portalHeaders(visit),
    body: form.toString(),
    most: 65_536,
  })
  if (!isRecord(answer)) throw new PlatformError(status)
  if (status !== 200) throw new Refusal(502, `The portal said: ${answer.error_description}`)
  return answer
}

/** If a call that `isMet` selects fails with a Retry-After, the page shows this value as a number of seconds. */
export function showsPauseAsNumber(isMet: (call: Call) => boolean): Partial<Behaviour> {
  const pauses = new WeakMap<Visit['setCookies'], string>()
  return {
    send(visit, request) {
      if (!isMet(request)) return correct.send(visit, request)
      const readBody: Behaviour['readBody'] = (response, most) => {
        const pause = response.headers.get('retry-after')
        if (pause !== null) pauses.set(visit.setCookies, pause)
        return correct.readBody(response, most)
      }
      return correct.send(behaving(visit, { readBody }), request)
    },
    wordsFor(error, visit) {
      const pause = pauses.get(visit.setCookies)
      return pause === undefined ? correct.wordsFor(error, visit) : `Please try again in ${Number(pause)} seconds.`
    },
  }
}
