// The revocation of tokens at the portal when a visitor signs out: its request, and the answers of the portal.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, waitedMs } from '../../findings.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'
import { visitPage } from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'

const needs: CheckDefinition['needs'] = ['logout', 'page']

/** Signs in and out. Returns the revocations, and ends the check if there are none. */
async function revokeOnce(context: CheckContext, fault?: string, options: Record<string, unknown> = {}) {
  const { browser, page: landed } = await context.signedIn()
  const before = new Set(context.arrived())
  if (fault) await context.order(fault, { times: 1, options })
  const page = await signOut(context, browser, landed)
  const isRevocation = (step: LabStep) => step.kind === 'revoke' || step.request.url.startsWith('/api/revokeToken')
  const revocations = () => context.arrived().filter(step => !before.has(step) && isRevocation(step))
  await context.platform.settle(1000)
  // The client may revoke the tokens after its answer.
  for (let tries = 0; tries < 5 && revocations().length === 0; tries++) {
    await context.pause(200)
    await context.platform.settle()
  }
  return { browser, page, revocations: revocations() }
}

function request(
  definition: Omit<CheckDefinition, 'run' | 'needs'>,
  judge: (revocation: LabStep, context: CheckContext) => void,
): CheckDefinition {
  return {
    ...definition,
    needs,
    async run(context) {
      const { revocations } = await revokeOnce(context)
      if (revocations.length === 0) throw new NotApplicable('signing out revokes nothing at the portal')
      for (const revocation of revocations) judge(revocation, context)
    },
  }
}

const fieldsOf = ({ request: { body } }: LabStep) => (typeof body === 'object' && body !== null ? body : {})

const requests: CheckDefinition[] = [
  request(
    {
      id: 'logout-revocation-address',
      title: 'The address of a revocation has no query',
      rule: 'credentials-in-body',
      why: 'Servers and proxies log addresses, and neither a token nor the client secret must be in a log.',
      fix: 'POST a form with token, client_id and client_secret.',
    },
    revocation =>
      expect(
        !revocation.request.url.includes('?'),
        `The address of the revocation is ${revocation.request.url.split('?')[0]}?…`,
        revocation,
      ),
  ),
  request(
    {
      id: 'logout-revocation-one-authentication',
      title: 'A revocation authenticates the client with one method',
      rule: 'one-authentication',
      why: 'A portal may refuse a request that authenticates with two methods. The tokens then stay valid.',
      fix: 'Send client_secret only in the form, and no Authorization header.',
    },
    revocation =>
      expect(
        !('client_secret' in fieldsOf(revocation) && revocation.request.headers.authorization !== undefined),
        'The revocation has an Authorization header in addition to client_secret.',
        revocation,
      ),
  ),
  request(
    {
      id: 'logout-revocation-accepted',
      title: 'The portal accepts the revocation',
      rule: 'CK-15',
      why: 'If the portal refuses the revocation, everybody who has a copy of the cookies can use the tokens.',
      fix: 'POST a form (application/x-www-form-urlencoded) with token, client_id and client_secret to /api/revokeToken.',
    },
    revocation =>
      expect(
        revocation.response.status === 200,
        `The portal refused the revocation with status ${revocation.response.status}.`,
        revocation,
      ),
  ),
]

const redirects: CheckDefinition[] = [302, 307].map(status => ({
  id: `logout-revocation-redirect-${status}`,
  title: `The client follows no redirect of a revocation (${status})`,
  rule: 'UP-02',
  why: 'A client that follows the redirect sends the token and the secret to an address that it has not chosen. Many HTTP libraries follow redirects by default.',
  fix: 'Switch redirects off for this call, and treat every 3xx as a failure.',
  needs,
  async run(context) {
    const fault = `revoke-redirect-${status}`
    const { revocations } = await revokeOnce(context, fault)
    if (revocations.length === 0) throw new NotApplicable('signing out revokes nothing at the portal')
    const trapped = requestAtTrap(context, fault)
    expect(
      trapped === undefined,
      `The client followed the redirect with ${trapped?.request.method}.`,
      ...(trapped ? [trapped] : []),
    )
  },
}))

/** Answers to a revocation that are not a success. The client must answer the visitor and end the session. */
const answers = ['400', '401', '404', '500', 'html', 'empty', 'half', 'not-an-object', 'cut', 'redirect-302']

const failures: CheckDefinition[] = [
  {
    id: 'logout-portal-answers',
    title: 'Whatever the portal answers to the revocation, the visitor is signed out',
    rule: 'CK-13',
    why: 'If a failure at the portal keeps the visitor signed in at the client, the next person at the computer can act as this visitor.',
    fix: 'Delete the cookies of the session first. Ignore the status and the body of the answer to the revocation.',
    needs,
    longestMs: 90_000,
    async run(context) {
      for (const answer of answers) {
        const { browser, page, revocations } = await revokeOnce(context, `revoke-${answer}`)
        await context.dropFaults()
        expect(
          page.status > 0 && page.status < 400,
          `With the fault revoke-${answer} the request to sign out was answered with ${describePage(page)}.`,
          page,
        )
        const { steps } = await visitPage(context, browser)
        const used = steps.filter(({ kind }) => kind === 'api' || kind === 'me' || kind === 'refresh')
        expect(used.length === 0, `After revoke-${answer} the next page still uses the session.`, page, ...used)
        if (revocations.length === 0) return
      }
    },
  },
  ...(
    [
      ['drip', 'the portal answers the revocation one byte at a time', { seconds: 0.5 }],
      ['endless-body', 'the answer to the revocation has no end', {}],
      ['slow-header', 'the headers of the answer to the revocation come one byte at a time', {}],
    ] as const
  ).map(
    ([fault, what, options]): CheckDefinition => ({
      id: `logout-portal-${fault}`,
      title: `When ${what}, the visitor is signed out in time`,
      rule: 'UP-03',
      why: 'Without a deadline, the visitor waits, closes the window, and is still signed in.',
      fix: 'Give the revocation one deadline from its start to the end of the body. A timeout for each read is not enough.',
      needs,
      longestMs: 90_000,
      async run(context) {
        const { browser, page } = await revokeOnce(context, `revoke-${fault}`, options)
        const seconds = Math.round(waitedMs(page) / 1000)
        expect(page.status > 0, `The browser had no answer: ${page.fault}.`, page)
        expect(seconds <= 10, `Signing out took ${seconds} seconds.`, page)
        await context.dropFaults()
        expect(!(await context.isSignedIn(browser)), 'The next page still shows the visitor as signed in.', page)
      },
    }),
  ),
]

export const revocation: CheckDefinition[] = [...requests, ...redirects, ...failures]
