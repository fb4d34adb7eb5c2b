// Checks on everything that the client printed, answered and sent during the whole run. Some clients print a secret
// only after one particular failure, and it is possible that no other check causes this failure.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { CheckDefinition } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import {
  cookieSecret,
  credentialSecrets,
  findLeaksOf,
  type KnownSecret,
  secret,
  tokenSecrets,
} from '../../steps/leaks.ts'
import { expectOutputSince } from '../../steps/unprinted.ts'
import { fieldsOf } from '../../tokens.ts'
import { everyAnswer } from './every-answer.ts'
import { failEachCall } from './fail-each-call.ts'

/** The kinds of calls that come from the client itself, and not from the browser. */
const ownCalls: LabStep['kind'][] = ['exchange', 'refresh', 'revoke', 'metadata', 'me', 'api', 'trap']

const stepsOf = ({ platform }: CheckContext) => platform.steps.slice(platform.round.step)

/**
 * Makes each kind of call fail, and returns everything that the client has printed in this round. The first call in a
 * round also restarts the client, because many programs print the rest of their output only when they end.
 */
async function outputOf(context: CheckContext): Promise<string> {
  const { platform, clientProcess } = context
  await failEachCall(context)
  if (!platform.eachCallFailed.isPrinted) await context.restartClient()
  platform.eachCallFailed.isPrinted = true
  return clientProcess!.output(platform.round.output)
}

/** Ends the check as undecided if the suite no longer has the whole output of this round. */
function expectWholeOutput(context: CheckContext): void {
  expectOutputSince(context, context.platform.round.output)
}

/** Returns a function that searches text for any secret that the client has received during the run. */
function findLeaksOfRun(context: CheckContext) {
  const { platform } = context
  const secrets = [
    ...secret('the client secret', platform.clientSecret.reveal()),
    ...platform.codes.flatMap(code => secret('the code of a login', code)),
    ...stepsOf(context).flatMap(step => [
      ...tokenSecrets(step),
      ...credentialSecrets(step),
      ...secret('a code_verifier', fieldsOf(step).code_verifier),
    ]),
    ...[...platform.cookieValues].flatMap(cookieSecret),
  ]
  // Ignores cookies that contain a plain state, a path or an id, because these values are also in addresses.
  const isSecret = ({ value, isCookie }: KnownSecret) =>
    !isCookie ||
    (!/^(%2f|\/|https?:)/i.test(value) &&
      !platform.begunStates.some(state => value.includes(state)) &&
      !platform.people.some(({ id, groupId }) => value.includes(id) || value.includes(groupId)))
  return findLeaksOf(secrets, isSecret)
}

const why =
  'Logs and addresses are kept for a long time, and people who must not know a secret can read them. Usually, a secret gets into a log or an address after a failure: the error of a library contains the whole call, or an error page contains the whole request.'

export const wholeRun: CheckDefinition[] = [
  {
    id: 'run-states',
    title: 'During the whole run, no two logins have the same state',
    rule: 'state-per-login',
    why: 'If the client takes its states from a small set of values, states repeat after a few hundred logins, and an attacker can guess a state.',
    fix: "For the state of each login, use at least 16 bytes from the system's cryptographically secure random number generator.",
    isAlone: true,
    async run(context) {
      // Begins 200 logins, because the run may consist of few checks.
      for (let count = 0; count < 200; count++) await context.startLogin(context.browser())
      const known = new Set<string>()
      const repeated = context.platform.begunStates.filter(state => known.size === known.add(state).size)
      expect(
        repeated.length === 0,
        `${context.platform.begunStates.length} logins had only ${known.size} different states.`,
      )
    },
  },
  {
    id: 'run-log-secrets',
    title: 'During the whole run, the client does not print a token, secret, code or cookie',
    rule: 'SE-04',
    why,
    fix: 'Log the path, the status and your own error code. From requests, answers and errors, log only the fields in a fixed list.',
    needs: ['process'],
    isAlone: true,
    async run(context) {
      const output = await outputOf(context)
      const leak = findLeaksOfRun(context)(output)
      expect(
        !leak,
        `The output of the client contains ${leak?.what}, or a part of it.`,
        `${leak?.place}[${leak?.what}]`,
      )
      expectWholeOutput(context)
    },
  },
  {
    id: 'run-log-states',
    title: 'During the whole run, the client does not print the state of any login',
    rule: 'LG-01',
    why,
    fix: 'Log the path of a request without its query. Do not log the addresses to which you redirect the browser.',
    needs: ['process'],
    isAlone: true,
    async run(context) {
      const words = new Set((await outputOf(context)).match(/[\w.~-]{20,}/g))
      const states = context.platform.begunStates.filter(state => /^[\w.~-]{20,}$/.test(state))
      const printed = states.find(state => words.has(state))
      expect(printed === undefined, 'The output of the client contains the state of a login.')
      expectWholeOutput(context)
    },
  },
  {
    id: 'run-log-people',
    title: 'During the whole run, the client does not print the name or the e-mail address of a visitor',
    rule: 'LG-06',
    why: 'Logs are copied to other systems and kept for a long time. They must not contain personal data.',
    fix: "Log the hash of an id instead of a name. Do not log the answer to the request for the visitor's name.",
    needs: ['process'],
    isAlone: true,
    async run(context) {
      const output = await outputOf(context)
      const found = /\bRobin\d+\b|\bMiller\d+\b|\brobin\d+(@|%40)conformance\.test\b/.exec(output)
      expect(!found, 'The output of the client contains the name or the e-mail address of a visitor.', `${found?.[0]}`)
      expectWholeOutput(context)
    },
  },
  {
    id: 'run-addresses',
    title: 'During the whole run, no address that the client calls contains a token, a secret or a code',
    rule: 'SE-04',
    why: 'Servers and proxies log the addresses of requests.',
    fix: 'Send the secret and the tokens in the body of a POST, and the access token for the API in the Authorization header.',
    isAlone: true,
    async run(context) {
      await failEachCall(context)
      const findLeak = findLeaksOfRun(context)
      const calls = stepsOf(context).filter(({ kind }) => ownCalls.includes(kind))
      const leak = findLeak(calls.map(({ request }) => request.url).join('\n'))
      const call = leak && calls.find(({ request }) => findLeak(request.url))
      expect(
        !leak,
        `The address of a call contains ${leak?.what}: ${call?.request.method} ${call?.request.url.split('?')[0]}`,
        ...(call ? [call] : []),
      )
    },
  },
  {
    id: 'run-headers',
    title: 'During the whole run, no call from the client contains a cookie that the client has set in a browser',
    rule: 'UP-12',
    why: "With a visitor's session cookie, anyone can act as this visitor. People who operate the platform, or who can read its logs, could then read the cookie.",
    fix: "Set the headers of each call yourself. Do not copy headers from the browser's request.",
    isAlone: true,
    async run(context) {
      await failEachCall(context)
      const findCookie = findLeaksOf([...context.platform.cookieValues].flatMap(cookieSecret))
      const call = stepsOf(context).find(
        ({ kind, request }) => ownCalls.includes(kind) && request.headers.cookie && findCookie(request.headers.cookie),
      )
      expect(!call, 'A call to the platform contains a cookie of a visitor.', ...(call ? [call] : []))
    },
  },
  {
    id: 'run-secret-at-the-portal',
    title:
      'During the whole run, the client sends its secret only in the body of calls to the token endpoints of the portal',
    rule: 'UP-15',
    why: 'The secret proves to the portal who the client is. Every other server that gets the secret can leak it.',
    fix: 'Set the fields and headers of each call yourself. Send the secret only with an exchange, a renewal or a revocation.',
    isAlone: true,
    async run(context) {
      await failEachCall(context)
      const secret = context.platform.clientSecret.reveal()
      const basic = Buffer.from(`${context.platform.clientId}:${secret}`).toString('base64')
      const call = stepsOf(context)
        .filter(({ kind }) => ['api', 'me', 'metadata', 'authorize'].includes(kind))
        .find(({ request: { url, headers, body } }) => {
          const text = JSON.stringify([url, headers, body])
          return text.includes(secret) || text.includes(basic)
        })
      expect(!call, 'A call to another address contains the client secret.', ...(call ? [call] : []))
    },
  },
  {
    id: 'run-pages',
    title:
      'During the whole run, no answer to a browser contains an access token, a refresh token or the client secret',
    rule: 'CK-08',
    why: 'Scripts and browser extensions can read pages, and the browser history keeps addresses. Error pages often contain the whole failed call.',
    fix: 'Send tokens to a browser only in HttpOnly cookies. When an error occurs, answer with fixed words.',
    isAlone: true,
    async run(context) {
      await failEachCall(context)
      context.noteLeaks()
      const [leak] = context.platform.leaks
      expect(!leak, `${leak?.reason}`, `${leak?.evidence}`)
    },
  },
  ...everyAnswer,
]
