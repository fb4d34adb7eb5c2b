// A request as a curl command, with a placeholder for every hidden value.
import type { RecordedStep, Value, Values } from '../record/recorded.ts'

/** Where browsers and clients reach the portal, the API and the laboratory. */
export interface LabAddresses {
  portalUrl: string
  apiUrl: string
  labUrl: string
}

/** The command leaves these headers out: curl sets them automatically, or they are not needed to repeat the request. */
const ownHeaders = /^(host|user-agent|accept|accept-language|x-request-id|content-type|cookie|origin|referer|sec-.*)$/

export function toCurlLine(step: RecordedStep, addresses: LabAddresses): string {
  const { method, query, headers, body } = step.request
  const words = ['curl', ...(method === 'GET' ? [] : ['-X', method]), quote(addressOf(step, query, addresses))]
  for (const [name, value] of entriesOf(headers))
    if (!ownHeaders.test(name)) words.push('-H', quote(`${name}: ${name === 'authorization' ? 'Bearer ' : ''}${value}`))
  const fields = entriesOf(body)
  if (fields.length === 0) return words.join(' ')
  if (step.listener === 'portal')
    return [...words, ...fields.flatMap(([name, value]) => ['--data-urlencode', quote(`${name}=${value}`)])].join(' ')
  return [...words, '-H', quote('content-type: application/json'), '-d', quote(JSON.stringify(nest(fields)))].join(' ')
}

export function addressOf(
  { listener, request }: RecordedStep,
  query: Values,
  { portalUrl, apiUrl }: LabAddresses,
): string {
  const search = new URLSearchParams(entriesOf(query)).toString()
  return (listener === 'api' ? apiUrl : portalUrl) + request.path + (search && `?${search}`)
}

/** Returns pairs of a name and a value. If a value is hidden, the pair contains the name in angle brackets instead. */
export function entriesOf(values: Values): [string, string][] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, textOf(name, one)]),
  )
}

function textOf(name: string, value: Value): string {
  return typeof value === 'string' ? value : `<${name}>`
}

/** Turns a field such as `data.name` into the field `name` of an object `data`. */
function nest(fields: [string, string][]): object {
  const whole = Object.create(null)
  for (const [path, value] of fields) {
    const names = path.split('.')
    const last = names.pop()!
    let inner = whole
    for (const name of names) {
      // The request may have used the same name for a value and for an object. The later field wins.
      if (typeof inner[name] !== 'object') inner[name] = Object.create(null)
      inner = inner[name]
    }
    inner[last] = value
  }
  return whole
}

/** Quotes a text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
