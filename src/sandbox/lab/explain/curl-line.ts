// A request as a curl command, with a placeholder for every hidden value.
import type { LabAddresses } from '../addresses.ts'
import { firstOf, type RecordedStep, type Value, type Values } from '../record/recorded.ts'

/** The command leaves these headers out: curl sets them automatically, or they are not needed to repeat the request. */
const ownHeaders = /^(host|user-agent|accept|accept-language|x-request-id|content-type|cookie|origin|referer|sec-.*)$/

export function toCurlLine(step: RecordedStep, addresses: LabAddresses): string {
  const { method, query, headers, scheme } = step.request
  const words = ['curl', ...(method === 'GET' ? [] : ['-X', method]), quote(addressOf(step, query, addresses))]
  for (const [name, value] of entriesOf(headers))
    if (!ownHeaders.test(name))
      words.push('-H', quote(`${name}: ${name === 'authorization' && scheme ? `${scheme} ` : ''}${value}`))
  return [...words, ...bodyWords(step)].join(' ')
}

function bodyWords({ request: { method, headers, body } }: RecordedStep): string[] {
  const type = firstOf(headers, 'content-type')
  if (typeof type !== 'string' || /^application\/x-www-form-urlencoded\b/i.test(type))
    return entriesOf(body).flatMap(([name, value]) => ['--data-urlencode', quote(`${name}=${value}`)])
  const header = ['-H', quote(`content-type: ${type}`)]
  if (Object.keys(body).length > 0) return [...header, '-d', quote(JSON.stringify(nest(body)))]
  // The platform reads only forms and JSON, so the laboratory does not know a body of another type.
  const isUnread = method !== 'GET' && !/^application\/json\b/i.test(type)
  return isUnread ? [...header, '-d', quote('<body>')] : header
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
  if (typeof value === 'string') return value
  return value.length === 0 ? '' : `<${name}>`
}

/** Turns a field such as `data.name` into the field `name` of an object `data`. */
function nest(body: Values): object {
  const whole = Object.create(null)
  for (const [path, value] of Object.entries(body)) {
    const names = path.split('.')
    const last = names.pop()!
    let inner = whole
    for (const name of names) {
      // The request may have used the same name for a value and for an object. Then the later field replaces the
      // earlier one.
      if (typeof inner[name] !== 'object') inner[name] = Object.create(null)
      inner = inner[name]
    }
    inner[last] = Array.isArray(value) ? value.map(one => textOf(path, one)) : textOf(path, value)
  }
  return whole
}

/** Quotes text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
