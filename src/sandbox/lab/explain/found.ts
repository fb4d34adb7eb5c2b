// What was wrong with one request, as exactly as its step shows it: the field that is missing, or how two addresses differ.
import { firstOf, identityOf, type RecordedLogin, type RecordedStep, stepsOf, type Value } from '../record/recorded.ts'
import { guidanceOf } from './guidance.ts'

/** What was found, and how to fix it. Call this for a step that was refused. */
export function explainRefusal(
  step: RecordedStep,
  login: Pick<RecordedLogin, 'steps'>,
): { found: string; fix: string } {
  const { found, fix } = guidanceOf(step.reason!)
  return addressFound(step) ?? { found: fieldFound(step) ?? repeatFound(step, login) ?? found, fix }
}

/** An address that is not the expected one. */
function addressFound({ reason, checks }: RecordedStep): { found: string; fix: string } | undefined {
  const failed = checks.find(({ name, passed }) => !passed && (name === 'redirect_uri' || name === 'cancel_url'))
  if (failed === undefined || typeof failed.expected !== 'string') return undefined
  const { name, expected, received } = failed
  const isStart = reason !== 'redirect-uri-differs'
  if (typeof received !== 'string' || received === '')
    return {
      found: `${name} is missing.`,
      fix: name === 'cancel_url' ? guidanceOf('cancel-url-foreign').fix : 'Send it.',
    }
  if (name === 'cancel_url')
    return {
      found: `cancel_url is ${received}, which is no address at ${expected}.`,
      fix: guidanceOf('cancel-url-foreign').fix,
    }
  const others = expected.split(', ')
  const difference = others.map(one => differenceOf(received, one)).find(words => words !== undefined)
  const other = isStart ? 'the registered one' : 'the one that started the login'
  return {
    found: difference
      ? `redirect_uri ${difference.received}, ${other} ${difference.expected}.`
      : `redirect_uri is ${received}, ${other} is ${others.join(' or ')}.`,
    fix: isStart ? 'Send the registered one, or register the one that you send.' : 'Send the same text both times.',
  }
}

/** How two addresses differ, if they differ in one thing that is easily overlooked. */
function differenceOf(received: string, expected: string): { received: string; expected: string } | undefined {
  if (received === `${expected}/`) return { received: 'ends with /', expected: 'does not' }
  if (`${received}/` === expected) return { received: 'does not end with /', expected: 'does' }
  if (received.toLowerCase() === expected.toLowerCase())
    return { received: 'has other capital letters', expected: `is ${expected}` }
  if (!URL.canParse(received) || !URL.canParse(expected)) return undefined
  const [sent, registered] = [new URL(received), new URL(expected)]
  for (const [part, words] of urlParts) {
    const changed = new URL(sent)
    changed[part] = registered[part]
    if (sent[part] !== registered[part] && changed.href === registered.href)
      return { received: `has ${words} ${sent[part] || '(none)'}`, expected: `has ${registered[part] || '(none)'}` }
  }
  return undefined
}

const urlParts = [
  ['hostname', 'the host'],
  ['port', 'the port'],
  ['protocol', 'the scheme'],
  ['pathname', 'the path'],
  ['search', 'the query'],
] as const

const fieldReasons = ['field-missing', 'field-repeated', 'field-too-long', 'fields-invalid']

/** The answer names the field. */
function fieldFound({ reason, listener, response }: RecordedStep): string | undefined {
  if (reason === undefined || !fieldReasons.includes(reason)) return undefined
  const described = firstOf(response.body, 'error_description') ?? firstOf(response.location, 'error_description')
  if (typeof described === 'string') return described
  if (listener !== 'api') return undefined
  const fields = Object.entries(response.body).flatMap(([path, value]) => problemOf(path, value))
  return fields.length > 0 ? fields.join(' ') : undefined
}

function problemOf(path: string, value: Value | Value[]): string[] {
  const [, field] = /^error\.message\.(.+)$/.exec(path) ?? []
  const [first] = [value].flat()
  return field !== undefined && typeof first === 'string' ? [`${field}: ${first}`] : []
}

/** When the code was used the first time. */
function repeatFound(step: RecordedStep, login: Pick<RecordedLogin, 'steps'>): string | undefined {
  if (step.reason !== 'code-used') return undefined
  const code = identityOf(firstOf(step.request.body, 'code'))
  const first = stepsOf(login, 'exchange').find(({ request }) => identityOf(firstOf(request.body, 'code')) === code)
  if (code === undefined || first === undefined || first === step) return undefined
  return `The code was already used at step ${login.steps.indexOf(first) + 1}.`
}
