// Logs what the laboratory says about a failed login. The words are the same as on the pages of the laboratory.
import type { FastifyBaseLogger } from 'fastify'
import type { RecordedLogin, RecordedStep } from '../record/recorded.ts'
import type { LoginReader } from './describe-login.ts'
import { hasCode } from './login-status.ts'
import { findNotices } from './notices/notices.ts'
import { verdictOf } from './verdict.ts'

/** How often to look for codes that no client has exchanged. */
const lookMs = 1_000

/** The log levels that show these lines. At other levels the laboratory does not compute the lines. */
const levels = ['trace', 'debug', 'info']

/** What the log already says about a login: its last verdict, and the ids of its notices. */
interface Written {
  verdict: { outcome: string; isLoop: boolean; stepId: string | undefined; refusedCalls: number } | undefined
  notices: Set<string>
}

export function createVerdictLog({ logins, addresses, clock }: LoginReader, logger: FastifyBaseLogger) {
  const written = new WeakMap<RecordedLogin, Written>()
  /** Logins whose code no client has exchanged yet. Only these logins can fail without another request. */
  const withCode = new Set<RecordedLogin>()

  const look = setInterval(() => {
    for (const login of withCode) {
      if (logins.find(login.id) === undefined) withCode.delete(login)
      else if (writeVerdict(login) !== 'under way') withCode.delete(login)
    }
  }, lookMs).unref()

  function writtenOf(login: RecordedLogin): Written {
    const found = written.get(login) ?? { verdict: undefined, notices: new Set() }
    written.set(login, found)
    return found
  }

  /** Writes a line if something new went wrong in the login. Returns the outcome of the login. */
  function writeVerdict(login: RecordedLogin): string {
    const { outcome, isLoop, refusedCalls, sentence, fix, step } = verdictOf(login, logins.othersOf(login), clock())
    const isWrong = outcome === 'refused' || outcome === 'never exchanged' || isLoop || refusedCalls > 0
    const before = writtenOf(login)
    // The sentences are not compared, because the number of a step changes when the laboratory leaves out other steps.
    const isNew =
      outcome !== before.verdict?.outcome ||
      isLoop !== before.verdict.isLoop ||
      step?.id !== before.verdict.stepId ||
      refusedCalls > before.verdict.refusedCalls
    if (isWrong && isNew) {
      before.verdict = { outcome, isLoop, stepId: step?.id, refusedCalls }
      logger.info({ code: 'lab-verdict', ...nameLogin(login, step), sentence, fix }, 'a login went wrong')
    }
    return outcome
  }

  function writeNotices(login: RecordedLogin): void {
    const { notices } = writtenOf(login)
    for (const { id, severity, found, fix, steps } of findNotices(login, logins.othersOf(login))) {
      if (notices.has(id)) continue
      notices.add(id)
      const step = login.steps.find(one => one.id === steps[0])
      logger.info(
        { code: 'lab-notice', ...nameLogin(login, step), notice: id, severity, sentence: found, fix },
        'the laboratory noticed something about a client',
      )
    }
  }

  function nameLogin(login: RecordedLogin, step: RecordedStep | undefined) {
    const url = `${addresses.labUrl}/logins/${login.id}`
    return { loginId: login.id, requestId: step?.requestId, kind: step?.kind, url }
  }

  return {
    /** Call this after a step of the login was recorded. */
    write(login: RecordedLogin, step: RecordedStep): void {
      if (!levels.includes(logger.level)) return
      if (hasCode(step)) withCode.add(login)
      writeVerdict(login)
      writeNotices(login)
    },

    /** Call this when the laboratory stops. */
    end: () => clearInterval(look),
  }
}
