// Says exactly what was wrong with one request, for example which field is missing, or how two addresses differ.
import { longestCodeSeconds } from '../../values/longest-code.ts'
import {
  firstOf,
  identityOf,
  type RecordedLogin,
  type RecordedStep,
  stepsOf,
  type Value,
  type Values,
} from '../record/recorded.ts'
import { guidanceOf } from './guidance.ts'
import { nearestOf } from './value-difference.ts'

/** Says why a step was refused, and how to fix it. Call this only for a refused step. */
export function explainRefusal(
  step: RecordedStep,
  login: Pick<RecordedLogin, 'steps'>,
): { found: string; fix: string } {
  const { found, fix } = guidanceOf(step.reason!)
  const exact = addressFound(step) ?? groupFound(step) ?? forgottenFound(step, login)
  if (exact) return exact
  if (step.reason === 'client-unknown' && typeof clientIdIn(step) === 'object')
    return {
      found: `${found} The client_id may be a secret, so it is hidden.`,
      fix: `${fix} Check whether the id and the secret are swapped.`,
    }
  return { found: fieldFound(step) ?? codeFound(step, login) ?? tokenFound(step) ?? found, fix }
}

function clientIdIn({ request }: RecordedStep): Value | undefined {
  return firstOf(request.body, 'client_id') ?? firstOf(request.query, 'client_id')
}

const addressReasons = ['redirect-uri-unregistered', 'redirect-uri-differs', 'cancel-url-foreign', 'field-missing']

/**
 * Explains a redirect_uri or cancel_url that differs from the expected address. Returns undefined if the request was
 * refused for another reason, such as a used code.
 */
function addressFound({ reason, checks }: RecordedStep): { found: string; fix: string } | undefined {
  if (reason === undefined || !addressReasons.includes(reason)) return undefined
  const failed = checks.find(({ name, passed }) => !passed && (name === 'redirect_uri' || name === 'cancel_url'))
  if (failed === undefined) return undefined
  const { name, received } = failed
  const expected = [failed.expected].flat().filter(value => typeof value === 'string')
  if (expected.length === 0) return undefined
  const isStart = reason !== 'redirect-uri-differs'
  if (typeof received !== 'string' || received === '')
    return {
      found: `${name} is missing.`,
      fix: name === 'cancel_url' ? guidanceOf('cancel-url-foreign').fix : 'Send redirect_uri.',
    }
  if (name === 'cancel_url')
    return {
      found: `cancel_url is ${withoutQuery(received)}, which is not an address at ${expected.join(' or ')}.`,
      fix: guidanceOf('cancel-url-foreign').fix,
    }
  const difference = differenceOf(received, nearestOf(expected, received))
  const other = isStart ? 'but the registered address' : 'but the address that started the login'
  return {
    found: difference
      ? `redirect_uri ${difference.received}, ${other} ${difference.expected}.`
      : `redirect_uri is ${withoutQuery(received)}, ${other} is ${expected.map(withoutQuery).join(' or ')}.`,
    fix: isStart
      ? 'Send the registered address, or register the address that you send.'
      : 'Send the same address both times.',
  }
}

/** Says how two addresses differ, if the only difference is easy to overlook. */
function differenceOf(received: string, expected: string): { received: string; expected: string } | undefined {
  if (received === `${expected}/`) return { received: 'ends with /', expected: 'does not' }
  if (`${received}/` === expected) return { received: 'does not end with /', expected: 'does' }
  if (received.toLowerCase() === expected.toLowerCase())
    return { received: 'has different capital letters', expected: `is ${withoutQuery(expected)}` }
  if (!URL.canParse(received) || !URL.canParse(expected)) return undefined
  const [sent, registered] = [new URL(received), new URL(expected)]
  for (const [part, words] of urlParts) {
    const changed = new URL(sent)
    changed[part] = registered[part]
    if (sent[part] !== registered[part] && changed.href === registered.href)
      return { received: `has ${words} ${sent[part] || '(none)'}`, expected: `has ${registered[part] || '(none)'}` }
  }
  if (sent.origin + sent.pathname !== registered.origin + registered.pathname) return undefined
  if (sent.search === '') return { received: 'has no query', expected: 'has one' }
  return { received: 'has another query', expected: registered.search ? `is ${withoutQuery(expected)}` : 'has none' }
}

/** Removes the query. The values in the query are hidden, so they would not help a reader. */
function withoutQuery(address: string): string {
  return address.replace(/\?.*$/s, '?…')
}

const urlParts = [
  ['hostname', 'the host'],
  ['port', 'the port'],
  ['protocol', 'the scheme'],
  ['pathname', 'the path'],
] as const

const fieldReasons = ['field-missing', 'field-repeated', 'field-too-long', 'fields-invalid']

/** Says which field is wrong, in the words of the answer. */
function fieldFound({ reason, listener, response }: RecordedStep): string | undefined {
  if (reason === undefined || !fieldReasons.includes(reason)) return undefined
  const described = firstOf(response.body, 'error_description') ?? firstOf(response.location, 'error_description')
  if (typeof described === 'string') return described
  if (listener !== 'api') return undefined
  const problems = problemsOf(response.body)
  return problems.length > 0 ? problems.join(' ') : undefined
}

/** Returns what an answer from the application API says about each field, such as `name: Not a valid string.` */
function problemsOf(body: Values): string[] {
  return Object.entries(body).flatMap(([path, value]) => {
    const [, field] = /^error\.message\.(.+)$/.exec(path) ?? []
    const [first] = [value].flat()
    if (field === undefined || typeof first !== 'string') return []
    return [first === 'Missing data for required field.' ? `${field} is missing.` : `${field}: ${first}`]
  })
}

/** Explains why an application could not be created with this groupId. */
function groupFound({ reason, route, request, response }: RecordedStep): { found: string; fix: string } | undefined {
  if (`${request.method} ${route}` !== 'POST /apps/v1') return undefined
  const { fix } = guidanceOf('group-unknown')
  if (reason === 'fields-invalid') {
    const problems = problemsOf(response.body)
    return problems.length === 1 && problems[0]!.startsWith('groupId') ? { found: problems[0]!, fix } : undefined
  }
  if (reason !== 'not-allowed') return undefined
  const groupId = firstOf(request.body, 'data.groupId') ?? firstOf(request.body, 'groupId')
  if (typeof groupId !== 'string') return undefined
  return { found: `The visitor is not a member of the group ${groupId}.`, fix }
}

/** Says when an expired code was issued, or at which step a used code was first used. */
function codeFound(step: RecordedStep, { steps }: Pick<RecordedLogin, 'steps'>): string | undefined {
  const code = identityOf(firstOf(step.request.body, 'code'))
  if (code === undefined) return undefined
  if (step.reason === 'code-expired') {
    const given = steps.find(({ response }) => identityOf(firstOf(response.location, 'code')) === code)
    if (given === undefined) return undefined
    const seconds = Math.round((step.at.getTime() - given.at.getTime()) / 1000)
    return `The code has expired. It was issued at step ${steps.indexOf(given) + 1}, ${seconds} seconds earlier.`
  }
  if (step.reason !== 'code-used') return undefined
  // A refused exchange did not use the code.
  const first = stepsOf({ steps }, 'exchange').find(
    ({ reason, request }) => !reason && identityOf(firstOf(request.body, 'code')) === code,
  )
  if (first === undefined || first === step) return undefined
  return `The code was already used at step ${steps.indexOf(first) + 1}.`
}

/**
 * Explains why the portal does not know a code or a refresh token that it issued in an earlier step. Steps with a fault
 * do not count, because the fault may have changed the value. Returns undefined for a code that is too new to have
 * expired: the reason is then another one, such as a reset.
 */
function forgottenFound(
  { reason, at, request }: RecordedStep,
  { steps }: Pick<RecordedLogin, 'steps'>,
): { found: string; fix: string } | undefined {
  const stepWith = (values: (step: RecordedStep) => Values, name: string) => {
    const sent = identityOf(firstOf(request.body, name))
    return steps.find(step => sent !== undefined && !step.fault && identityOf(firstOf(values(step), name)) === sent)
  }
  if (reason === 'code-unknown') {
    const given = stepWith(({ response }) => response.location, 'code')
    const ageMs = given ? at.getTime() - given.at.getTime() : 0
    if (!given || ageMs < longestCodeSeconds * 1000) return undefined
    const issued = `It was issued at step ${steps.indexOf(given) + 1}, ${Math.round(ageMs / 60_000)} minutes earlier.`
    return { found: `The code has expired. ${issued}`, fix: guidanceOf('code-expired').fix }
  }
  if (reason !== 'refresh-token-unknown') return undefined
  const given = stepWith(({ response }) => response.body, 'refresh_token')
  return (
    given && {
      found: `The portal no longer knows the refresh token that it issued at step ${steps.indexOf(given) + 1}. Perhaps the token was replaced more than 100 renewals ago.`,
      fix: guidanceOf('refresh-token-used').fix,
    }
  )
}

/**
 * Explains why the platform found no access token. For example, the client sent the token without Bearer, or in the
 * address.
 */
function tokenFound({ reason, request }: RecordedStep): string | undefined {
  if (reason !== 'token-missing') return undefined
  if (request.scheme === 'Bearer') return 'The Authorization header contains no token after Bearer.'
  if (request.headers.authorization !== undefined) return 'The Authorization header does not begin with Bearer.'
  return request.query.access_token === undefined ? undefined : 'The access token was sent in the address.'
}
