// Tests every fault with a client that reads raw bytes, and checks in the store whether the platform has acted.
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { catalogue, type Fault } from '../../../src/sandbox/lab/faults/catalogue.ts'
import { buildFaultLab } from './support/fault-lab.ts'
import { platformCalls } from './support/platform-calls.ts'
import { askRaw, type Raw } from './support/raw-client.ts'

const isJson = (text: string) => {
  try {
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

interface Wire {
  options?: object
  /** Returns true when the client has read enough of the answer. */
  enough?: (text: string, pieces: number) => boolean
  /**
   * True if the fault sends no answer. In this case, the client closes the connection as soon as an answer is no longer
   * possible.
   */
  isSilent?: true
  isRight(raw: Raw): boolean
}

/** What a client sees of each fault, keyed by fault kind. Faults that only send a status are not listed. */
const wires: Record<string, Wire> = {
  reset: { isRight: ({ text, isReset }) => text === '' && isReset },
  cut: {
    isRight: ({ body, headers, isReset }) =>
      isReset && body.length > 0 && body.length < Number(headers['content-length']),
  },
  late: { options: { seconds: 0.06 }, isRight: ({ status, ms }) => status >= 200 && status < 300 && ms > 50 },
  never: { isSilent: true, isRight: ({ text, isReset }) => text === '' && !isReset },
  drip: {
    options: { seconds: 0.002 },
    enough: (_, pieces) => pieces > 10,
    isRight: ({ body, pieces }) => pieces > 10 && body.length < 100,
  },
  half: {
    isRight: ({ body, headers }) =>
      !isJson(body) && body.length > 0 && body.length === Number(headers['content-length']),
  },
  empty: { isRight: ({ status, headers, body }) => status < 300 && headers['content-length'] === '0' && body === '' },
  html: {
    isRight: ({ status, headers, body }) =>
      status < 300 && /^text\/html/.test(headers['content-type'] ?? '') && body.includes('<h1>'),
  },
  'not-an-object': { isRight: ({ status, body }) => status < 300 && body === 'null' },
  gzip: {
    isRight: ({ headers, body }) =>
      headers['content-encoding'] === 'gzip' && isJson(gunzipSync(Buffer.from(body, 'latin1')).toString()),
  },
  'endless-body': {
    enough: text => text.length > 100_000,
    isRight: ({ status, headers, body }) => status < 300 && !headers['content-length'] && body.length > 90_000,
  },
  'endless-header': {
    enough: text => text.length > 100_000,
    isRight: ({ text }) =>
      text.startsWith('HTTP/1.1 200 OK\r\n') && !text.includes('\r\n\r\n') && text.length > 100_000,
  },
  'slow-header': {
    options: { seconds: 0.002 },
    enough: text => text.length > 60,
    isRight: ({ text }) => text.startsWith('HTTP/1.1 200 OK\r\n') && !text.includes('\r\n\r\n') && text.length < 200,
  },
  'redirect-302': {
    isRight: ({ status, headers }) => status === 302 && /^\/trap\/[\w-]{36}$/.test(headers.location ?? ''),
  },
  'redirect-307': {
    isRight: ({ status, headers }) => status === 307 && /^\/trap\/[\w-]{36}$/.test(headers.location ?? ''),
  },
}

const dialects = {
  oauth: (body: string) =>
    typeof JSON.parse(body).error === 'string' && typeof JSON.parse(body).error_description === 'string',
  message: (body: string) => typeof JSON.parse(body).message === 'string',
  api: (body: string, status: number) => JSON.parse(body).error.status === status,
}

/**
 * Returns the options with which the test orders a fault, and a function that checks the answer. If the fault sends a
 * status, the test also orders a Retry-After header.
 */
function wireOf(name: string, dialect: keyof typeof dialects): Wire | undefined {
  const status = /^\d{3}$/.test(name) ? Number(name) : undefined
  if (!status) return wires[name]
  return {
    options: { retryAfter: 'Wed, 21 Oct 2026 07:28:00 GMT' },
    isRight: raw =>
      raw.status === status &&
      raw.headers['retry-after']?.startsWith('Wed') === true &&
      dialects[dialect](raw.body, status),
  }
}

const dialectOf = ({ place }: Fault) =>
  place === 'me' ? 'message' : ['exchange', 'refresh', 'revoke', 'metadata', 'keys'].includes(place) ? 'oauth' : 'api'

/**
 * For each error format, the test tries every status at one place. At all other places, the test tries only 401 and
 * 503.
 */
const isTried = ({ place, name }: Fault) => {
  const status = /-(\d{3})(-after)?$/.exec(name)?.[1]
  return !status || ['exchange', 'me', 'create'].includes(place) || status === '401' || status === '503'
}

const health = { method: 'GET', url: '/health/live', headers: {}, body: '' }

/**
 * At these places, no other call changes the rows that `hasActed` reads. So the test can call `hasActed` again at the
 * end.
 */
const ofTheirOwn = ['exchange', 'refresh', 'revoke', 'create']

async function tryAll(t: Test, isMeant: (fault: Fault) => boolean) {
  const lab = await buildFaultLab(t)
  const calls = await platformCalls(lab.sandbox)
  const faults = [...catalogue.values()].filter(fault => fault.place in calls && isMeant(fault) && isTried(fault))
  const neverActed: [name: string, hasActed: () => Promise<boolean>][] = []
  for (const fault of faults) {
    const { name, place, when } = fault
    const shortName = name.slice(place.length + 1).replace(/-after$/, '')
    const wire = wireOf(shortName, dialectOf(fault))
    if (!wire) continue
    const call = await calls[place as keyof typeof calls]()
    const { id } = await lab.order(name, wire.options && { options: wire.options })
    const listener = lab.sandbox[call.listener]
    const untilThen = async () => {
      await lab.untilConsumed(id)
      // When this request is answered, the platform has received all earlier bytes.
      await askRaw(listener, { ...health, listener: call.listener })
    }
    const raw = await askRaw(listener, call, { enough: wire.enough, ...(wire.isSilent && { untilThen }) })
    t.ok(wire.isRight(raw), name, { raw: { ...raw, text: raw.text.slice(0, 1000), body: raw.body.slice(0, 1000) } })
    // If the fault happens after the platform acts, or only delays the answer, the platform must have acted. Otherwise
    // the platform must not have acted.
    if (call.hasActed) t.equal(await call.hasActed(), when === 'after' || shortName === 'late', `${name}: acted`)
    t.match(await lab.show(id), { status: 'used up', consumed: 1 }, name)
    if (call.hasActed && when === 'before' && shortName !== 'late' && ofTheirOwn.includes(place))
      neverActed.push([name, call.hasActed])
  }
  for (const [name, hasActed] of neverActed)
    t.notOk(await hasActed(), `${name}: the platform must not act later, after the client has closed the connection`)
  return { ...lab, calls, tried: faults.length }
}

t.test('laboratory-faults: each fault of the portal has the effect that the catalogue of faults describes', async t => {
  const { steps, tried } = await tryAll(t, ({ name }) => /^(exchange|refresh|revoke|metadata|keys|me)-/.test(name))
  t.ok(tried > 150, `${tried}`)
  const changed = (await steps()).filter(({ fault }) => fault)
  t.ok(changed.length > 40, 'the steps must name their faults, even if there was no answer')
  t.ok(changed.some(({ fault, response }) => fault?.name === 'revoke-reset' && response.status === 0))
})

t.test('laboratory-faults: each fault of the API has the effect that the catalogue of faults describes', async t => {
  const { tried } = await tryAll(t, ({ name }) =>
    /^(list|get|create|update|remove|secret|groups|make-group|link|unlink)-/.test(name),
  )
  t.ok(tried > 200, `${tried}`)
})
