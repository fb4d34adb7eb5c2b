// Finds logins by client, outcome, reason and time, and by the words of a search.
import { reasons } from '../../observe/reasons.ts'
import { wholeNumberTo9999 } from '../call-schemas.ts'
import type { OtherLogins } from '../record/compare-logins.ts'
import type { Hide } from '../record/hide.ts'
import type { RecordedLogin, RecordedStep, StepReason, Value, Values } from '../record/recorded.ts'
import type { LoginReader } from './describe-login.ts'
import { type LoginOutcome, outcomes, statusOf } from './login-status.ts'
import { findNotices, notices } from './notices/notices.ts'
import { verdictOf } from './verdict.ts'

/** The conditions that a listed login must meet. If a condition is left out, every login meets it. */
export interface LoginQuery {
  clientId?: string | undefined
  /** Only logins in which no request names a client. */
  noClient?: boolean
  outcome?: LoginOutcome | undefined
  /** Only logins with a step that was refused for this reason. */
  reason?: string | undefined
  /** Only logins whose last step is at most this many minutes old. */
  minutes?: number | undefined
}

export const allReasons: StepReason[] = [...(Object.keys(reasons) as StepReason[]), 'redirect-followed']
/** Almost a week. */
const mostMinutes = 9_999

/** The schemas of the query parameters that select logins. */
export const loginQueryParameters = {
  noClient: { type: 'string', enum: ['true'], description: 'Returns only logins in which no request names a client.' },
  outcome: { type: 'string', enum: outcomes, description: 'Returns only logins with this outcome.' },
  reason: {
    type: 'string',
    enum: allReasons,
    title: 'a reason of the catalogue',
    description: 'Returns only logins with a step that was refused for this reason.',
  },
  minutes: {
    ...wholeNumberTo9999,
    description: 'Returns only logins whose last step is at most this many minutes old.',
  },
} as const

/**
 * Reads the parameters above. It ignores invalid values, so that a page never fails because of its address. In a call
 * under /lab/v1/, all values are valid here, because the schema of the call has already refused invalid values.
 */
export function readLoginQuery(given: Record<string, string | undefined>): LoginQuery {
  const minutes = Number(given.minutes)
  return {
    clientId: given.clientId,
    noClient: given.noClient === 'true',
    outcome: outcomes.find(outcome => outcome === given.outcome),
    reason: allReasons.find(reason => reason === given.reason),
    minutes: Number.isInteger(minutes) && minutes > 0 && minutes <= mostMinutes ? minutes : undefined,
  }
}

/** Whether the query selects the login. */
export function isFoundBy(query: LoginQuery, login: RecordedLogin, now: Date): boolean {
  const { clientId, noClient, outcome, reason, minutes } = query
  if (clientId !== undefined && login.clientId !== clientId) return false
  if (noClient && login.clientId !== undefined) return false
  if (minutes !== undefined && now.getTime() - login.steps.at(-1)!.at.getTime() > minutes * 60_000) return false
  if (reason !== undefined && !login.steps.some(step => step.reason === reason)) return false
  return outcome === undefined || statusOf(login, now).outcome === outcome
}

/**
 * Returns the names of clients, keyed by client id. Clients that were never registered, or have been removed, are
 * missing.
 */
export type NamesOf = (clientIds: string[]) => Promise<Map<string, string>>

/**
 * Returns the logins that contain every word of the text, newest first. A word is compared with all text that the
 * laboratory can show. The hash of the word is compared with the hashes of hidden values: states, codes and tokens.
 */
export async function searchLogins(
  text: string,
  { logins, clock, hide, namesOf }: LoginReader & { hide: Hide; namesOf: NamesOf },
): Promise<RecordedLogin[]> {
  const now = clock()
  const words = wordsOf(text).map(word => {
    const isIn = (text: string) => text.toLowerCase().includes(word.toLowerCase())
    return {
      word,
      isIn,
      /**
       * The ids of the notices that contain this word. Finding the notices of a login is the slowest part of a search,
       * so the search skips this part if the set is empty.
       */
      inNotices: new Set(notices.filter(({ id, found }) => isIn(id) || isIn(found)).map(({ id }) => id)),
      hashes: new Set(secretsIn(word).map(hide.hash)),
    }
  })
  if (words.length === 0) return []
  const all = logins.list({})
  const names = await namesOf([...new Set(all.flatMap(({ clientId }) => clientId ?? []))])
  return all.filter(login => {
    const others = logins.othersOf(login)
    return words.every(
      ({ word, isIn, hashes, inNotices }) =>
        isIn(login.clientId ?? '') ||
        isIn(names.get(login.clientId ?? '') ?? '') ||
        login.steps.some(step => occursIn(step, word, isIn, hashes)) ||
        isIn(sentenceAbout(login, others, now)) ||
        (inNotices.size > 0 && findNotices(login, others).some(({ id }) => inNotices.has(id))),
    )
  })
}

const mostWords = 10

/** Splits the text into words, and leaves out `Bearer`, which a developer may have copied together with a token. */
function wordsOf(text: string): string[] {
  const words = text.split(/\s+/).filter(word => word !== '')
  return (words.length > 1 ? words.filter(word => !/^bearer$/i.test(word)) : words).slice(0, mostWords)
}

/**
 * Returns the word. If the word is an address or a query, the result also contains the values of its parameters. A
 * developer can then search for a whole callback address, which contains a code.
 */
function secretsIn(word: string): string[] {
  const query = word.slice(word.indexOf('?') + 1)
  return [word, ...new URLSearchParams(query).values()].filter(value => value !== '')
}

function occursIn(step: RecordedStep, word: string, isIn: (text: string) => boolean, hashes: Set<string>): boolean {
  const { id, requestId, reason, fault, request, response, checks } = step
  if (id === word || requestId === word || String(response.status) === word) return true
  if (isIn(`${request.method} ${request.path} ${reason ?? ''} ${fault?.name ?? ''}`)) return true
  const isSame = (value: Value | undefined) =>
    typeof value === 'string' ? isIn(value) : value !== undefined && hashes.has(value.hash)
  const hasSame = (values: Values) => Object.values(values).some(value => [value].flat().some(isSame))
  return (
    [request.query, request.body, request.headers, response.location, response.body].some(hasSame) ||
    checks.some(({ expected, received }) => [expected, received].flat().some(isSame))
  )
}

function sentenceAbout(login: RecordedLogin, others: OtherLogins, now: Date): string {
  const { status, sentence, fix } = verdictOf(login, others, now)
  return [status, sentence, fix].join(' ')
}
