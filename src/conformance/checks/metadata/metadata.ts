// Checks how the client uses the portal's metadata document (RFC 8414). A client may ignore the document. A client that
// reads it must also work without it, and must not trust the addresses in it.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { sendOverOneConnection } from '../../browser/send.ts'
import { type CheckDefinition, Failed, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import { type CheckContext, readStart, type Start } from '../../context.ts'
import { describePage, expect, fail, waitedMs } from '../../findings.ts'
import { beginLogin, followCallback, requireExchange } from '../../steps/callback.ts'
import { requestAtTrap } from '../../steps/redirect-trap.ts'
import { atOtherPlatform, canUseOtherPlatform } from '../../steps/restarts.ts'
import { revocationSeconds, revokesAtSignOut, untilRevoked } from '../../steps/revocations.ts'
import { endToken } from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'
import { fieldsOf } from '../../tokens.ts'

/**
 * The client may use a document that it kept from an earlier start. The check can then judge the client only with a
 * portal that the client does not know.
 */
class MayHaveKeptMetadata extends NotApplicable {}

/** How long a check waits for the restarted client to answer while the metadata has a fault. */
const startMs = 8000

/**
 * In the specification, a request that starts a login has only these parameters, and an exchange has only these fields.
 */
const startParameters = ['grant_type', 'response_type', 'client_id', 'redirect_uri', 'cancel_url', 'state']
const exchangeFields = ['grant_type', 'code', 'client_id', 'client_secret', 'redirect_uri', 'state']

const json = 'application/json; charset=utf-8'

const isMetadata = ({ kind, request }: LabStep) =>
  kind === 'metadata' && request.url.startsWith('/.well-known/oauth-authorization-server')

/** Ends the check if the client never asks for the metadata document, even when a login begins. */
async function needsMetadata(context: CheckContext): Promise<void> {
  const { platform } = context
  if (platform.steps.some(isMetadata)) return
  await context.startLogin(context.browser())
  await platform.settle()
  if (!platform.steps.some(isMetadata)) throw new NotApplicable("the client does not read the portal's metadata")
}

/**
 * Begins several logins at once, so that every process of the client has read the document. A process that has never
 * read a valid document cannot use its features.
 */
async function letEveryProcessRead(context: CheckContext): Promise<void> {
  await needsMetadata(context)
  await Promise.all(Array.from({ length: 16 }, () => context.startLogin(context.browser())))
  await context.platform.settle()
}

/**
 * Returns a browser whose requests all use one connection, so that one process of the client answers them. Another
 * process may not have read the document yet.
 */
function browserOfOneProcess(context: CheckContext): Browser {
  return context.browser({ send: sendOverOneConnection() })
}

/**
 * Restarts the client while its requests for the metadata document get the fault. Fails if the client does not start.
 * The returned function tells whether a request has got the fault.
 */
async function startUnder(
  context: CheckContext,
  fault: string,
  options: Record<string, unknown> = {},
): Promise<() => boolean> {
  const { platform } = context
  const clientProcess = context.clientProcess!
  const before = platform.steps.length
  clientProcess.isStale = true
  await context.order(fault, { times: 'always', state: undefined, options })
  let hasStarted = false
  const restarting = context.restartClient().then(
    () => {
      hasStarted = true
    },
    () => undefined,
  )
  // Some clients need many seconds to stop and start, whatever the portal answers.
  const mostMs = startMs + 2 * (clientProcess.firstStartMs ?? 0)
  await Promise.race([restarting, context.pause(mostMs)])
  if (!hasStarted) {
    await context.dropFaults()
    await restarting
    // The client may be slow for another reason, such as a busy machine. A restart without the fault shows this.
    const begun = performance.now()
    await context.restartClient()
    const usualMs = performance.now() - begun
    const seconds = (ms: number) => `${Math.round(ms / 1000)} seconds`
    if (usualMs > mostMs / 2)
      throw new Undecided(
        `The client did not answer within ${seconds(mostMs)} after a restart with this fault. A restart without a fault also took ${seconds(usualMs)}.`,
      )
    fail(
      `The client was restarted while the metadata document had this fault. It did not answer within ${seconds(mostMs)}.`,
    )
  }
  return () => platform.steps.slice(before).some(step => isMetadata(step) && step.fault?.name === fault)
}

/**
 * Ends the check if the client did not ask for the document while the fault was in effect. The check then cannot know
 * how the client handles the fault.
 */
async function expectMet(context: CheckContext, isMet: () => boolean): Promise<void> {
  await context.platform.settle()
  // If a fault leaves a request without an answer, the sandbox records the request only after the client has closed the
  // connection.
  if (!isMet()) await context.platform.settle(2500)
  if (!isMet())
    throw new MayHaveKeptMetadata(
      'the client does not ask for metadata when it starts or when a login begins. It may have kept the document from an earlier start. If the document is in a file, let the --start command delete this file',
    )
}

/** Signs in with a new browser and fails if the login does not finish. */
async function expectLogin(context: CheckContext, message: string): Promise<void> {
  const browser = context.browser()
  const page = await context.signIn(browser)
  if (!context.settings.page) return
  expect(await context.isSignedIn(browser), `${message} The login ended with ${describePage(page)}.`, page)
}

/** Begins a login. Returns whether it has PKCE. */
async function usesPkce(context: CheckContext, browser = context.browser()): Promise<boolean> {
  return (await context.startLogin(browser)).url.searchParams.has('code_challenge')
}

/**
 * The client may have kept a faulty document. So if the portal of this context has sent only faulty documents, this
 * function calls `run` with another portal, of which the client has no document.
 */
async function withoutFaultyDocument<T>(context: CheckContext, run: (context: CheckContext) => Promise<T>): Promise<T> {
  const hasSentDocument = context.platform.steps.some(
    step => isMetadata(step) && step.response.status === 200 && !step.fault,
  )
  return hasSentDocument || !canUseOtherPlatform(context.settings) ? run(context) : atOtherPlatform(context, run)
}

/** Restarts the client while there is no document. Returns whether the client then uses the feature. */
async function usesAnyway(context: CheckContext, uses: (context: CheckContext) => Promise<boolean>): Promise<boolean> {
  return withoutFaultyDocument(context, async other => {
    await startUnder(other, 'metadata-404')
    const isUsed = await uses(other)
    await other.dropFaults()
    return isUsed
  })
}

/**
 * Fails with the message that the client uses PKCE because of `what`. But if the client also uses PKCE when there is no
 * document, the check does not apply.
 */
async function failUnlessUsedAnyway(context: CheckContext, what: string): Promise<void> {
  if (await usesAnyway(context, usesPkce))
    throw new MayHaveKeptMetadata(
      'the client also uses PKCE if the metadata is missing. It still uses the last valid metadata, or it needs no metadata',
    )
  fail(`The client uses PKCE because of ${what}.`)
}

const alone = { isAlone: true, restartsClient: true, longestMs: 180_000 } as const

const failures: CheckDefinition[] = [
  ['404', 'status 404'],
  ['503', 'status 503'],
  ['html', 'an HTML page'],
].map(([failure, what]) => ({
  id: `metadata-${failure}`,
  title: `If the portal sends ${what} instead of its metadata, visitors can sign in during this failure and afterwards`,
  rule: 'metadata-optional',
  why: 'The client knows the addresses of the portal from its settings. If the client also needs the document, nobody can sign in while the document is missing.',
  fix: 'Read the document with a short deadline. If the request fails, continue without the optional features that the document lists.',
  needs: ['process', 'page'],
  ...alone,
  async run(context) {
    const isMet = await startUnder(context, `metadata-${failure}`)
    const begun = await context.visitUntilPortal(context.browser(), context.settings.login)
    await expectMet(context, isMet)
    expect(
      begun.stoppedAt !== undefined,
      `The client does not begin a login: it answers with ${describePage(begun)}.`,
      begun,
    )
    await expectLogin(context, 'Nobody can sign in.')
    await context.dropFaults()
    await expectLogin(context, 'The document is available again, but nobody can sign in.')
  },
}))

/**
 * A login may wait one second for the document. The check allows more time, because the machine can be slow, and the
 * client has other work to do.
 */
const longestWaitMs = 3000
/**
 * If a login takes longer than this, the check begins a second login. One slow login can have another cause, but two
 * slow logins in a row rarely do.
 */
const slowLoginMs = 2000

const waits: CheckDefinition[] = [
  ['never', 'does not arrive'],
  ['endless-body', 'does not end'],
  ['slow-header', 'comes with headers that arrive one byte at a time'],
  ['drip', 'arrives one byte at a time'],
].map(([failure, what]) => ({
  id: `metadata-${failure}`,
  title: `If the portal's metadata ${what}, a login still begins within about one second`,
  rule: 'metadata-optional',
  why: 'Without a deadline, the visitor waits for a document that the login does not need.',
  fix: 'Give the request for the document a deadline of one second. The deadline must include the time for the body. If the document is late, begin the login without it.',
  needs: ['process'],
  ...alone,
  async run(context) {
    const isMet = await startUnder(context, `metadata-${failure}`)
    const page = await context.visitUntilPortal(context.browser(), context.settings.login)
    const seconds = (waitedMs(page) / 1000).toFixed(1)
    expect(page.status !== 0, `The browser got no answer within ${seconds} seconds: ${page.error}.`, page)
    expect(waitedMs(page) < longestWaitMs, `The login began only after ${seconds} seconds.`, page)
    await expectMet(context, isMet)
    if (waitedMs(page) >= slowLoginMs) {
      const second = await context.visitUntilPortal(context.browser(), context.settings.login)
      expect(
        waitedMs(second) < slowLoginMs,
        `Two logins each took ${slowLoginMs / 1000} seconds or more to begin.`,
        page,
        second,
      )
    }
    await expectFastFirstLogin(context)
  },
}))

/**
 * Fails if the fault delayed the login that the suite began directly after the restart. A client that reads the document
 * when it starts delays only this login. Some clients always need seconds for their first answer, so the function also
 * measures a restart without the fault.
 */
async function expectFastFirstLogin(context: CheckContext): Promise<void> {
  const { slowestFirstLoginMs = () => 0 } = context.clientProcess!
  const firstMs = slowestFirstLoginMs()
  if (firstMs < longestWaitMs) return
  await context.dropFaults()
  await context.restartClient()
  const laterMs = firstMs - slowestFirstLoginMs()
  expect(
    laterMs < slowLoginMs,
    `After a restart, the first login took ${(laterMs / 1000).toFixed(1)} seconds longer than usual to begin.`,
  )
}

type Fault = [name: string, options?: Record<string, unknown>]

/** Faults that replace the document with another answer, or that give its fields a wrong type. */
const broken: Fault[] = [
  ['metadata-empty'],
  ['metadata-not-an-object'],
  ['metadata-reset'],
  ['metadata-cut'],
  ['metadata-401'],
  ['metadata-members', { members: { code_challenge_methods_supported: 'S256', revocation_endpoint: 5 } }],
  ['metadata-members', { members: { code_challenge_methods_supported: { S256: true }, revocation_endpoint: ['a'] } }],
  ['metadata-members', { members: { issuer: 5 } }],
]

const notForgotten: { id: string; rule: CheckDefinition['rule']; what: string; faults: Fault[] }[] = [
  {
    id: 'metadata-not-forgotten-when-broken',
    rule: 'metadata-remembered',
    what: 'the portal sends a broken answer instead of its metadata',
    faults: ['404', '500', 'html', 'half', 'empty', 'not-an-object', 'reset', 'cut'].map(kind => [`metadata-${kind}`]),
  },
  {
    id: 'metadata-not-replaced-by-another-issuer',
    rule: 'metadata-issuer',
    what: 'the portal sends metadata that names another issuer and lists no features',
    faults: [
      ['metadata-members', { members: { issuer: 'https://portal.example', code_challenge_methods_supported: null } }],
    ],
  },
]

const others: CheckDefinition[] = [
  {
    id: 'metadata-broken',
    title: "If the portal's metadata is broken, visitors can still sign in",
    rule: 'metadata-optional',
    why: 'The client knows the addresses of the portal from its settings. If the client also needs a correct document, nobody can sign in while the document is broken.',
    fix: 'Check the type of each field before you use it. If you cannot read the document, continue without the optional features that it lists.',
    needs: ['process', 'page'],
    ...alone,
    async run(context) {
      const isMet = await startUnder(context, 'metadata-half')
      await expectLogin(context, 'While the document ends in the middle of its JSON, nobody can sign in.')
      await expectMet(context, isMet)
      for (const [fault, options] of broken) {
        await context.dropFaults()
        await context.order(fault, { times: 'always', state: undefined, ...(options && { options }) })
        const members = options ? ` with ${JSON.stringify(options.members)}` : ''
        await expectLogin(context, `With the fault ${fault}${members}, nobody can sign in.`)
      }
    },
  },
  {
    id: 'metadata-wrong-types',
    title: "If fields of the portal's metadata have wrong types when the client starts, visitors can still sign in",
    rule: 'metadata-optional',
    why: 'In many languages, a search in a value that is not a list raises an error. Then nobody can sign in.',
    fix: 'Check the type of each field and of each item in a list before you use it. Ignore a field with a wrong type.',
    needs: ['process', 'page'],
    ...alone,
    async run(context) {
      for (const members of [
        { code_challenge_methods_supported: 5, revocation_endpoint: ['a'] },
        { code_challenge_methods_supported: [null, 5], revocation_endpoint: true },
      ]) {
        const isMet = await startUnder(context, 'metadata-members', { members })
        const begun = await context.visitUntilPortal(context.browser(), context.settings.login)
        await expectMet(context, isMet)
        const what = JSON.stringify(members)
        expect(
          begun.stoppedAt !== undefined,
          `With ${what}, the client does not begin a login, but answers with ${describePage(begun)}.`,
          begun,
        )
        await expectLogin(context, `With ${what}, nobody can sign in.`)
        await context.dropFaults()
      }
    },
  },
  {
    id: 'metadata-read-later',
    title: 'If the client could not read the metadata when it started, the client tries again at a later login',
    rule: 'metadata-kept',
    why: 'If the portal is down for one minute and the client never asks again, all later logins run without PKCE. Without PKCE, an attacker who gets a code can use it.',
    fix: 'If there is no document, ask for it again when the next login begins.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const isMet = await startUnder(context, 'metadata-503')
      await context.startLogin(context.browser())
      await expectMet(context, isMet)
      await context.dropFaults()
      const before = context.platform.steps.length
      const isRead = () =>
        context.platform.steps.slice(before).some(step => isMetadata(step) && step.response.status === 200)
      const later: Start[] = []
      const hasPkce = ({ url }: Start) => url.searchParams.has('code_challenge')
      // The client may wait for thirty seconds before it asks again. Most clients ask at the next login.
      const last = performance.now() + 31_000
      do {
        if (later.length > 0) await context.pause(2000)
        later.push(await context.startLogin(context.browser()))
        await context.platform.settle()
      } while (!isRead() && !later.some(hasPkce) && performance.now() < last)
      if (isRead()) return
      if (later.some(hasPkce))
        throw new MayHaveKeptMetadata(
          'the logins have PKCE although the client could not read the metadata. It still uses the last valid metadata, or it needs no metadata',
        )
      fail(
        `The client did not ask for the document again during ${later.length} logins in half a minute, and these logins have no PKCE.`,
        ...later.slice(-3).map(({ page }) => page),
      )
    },
  },
  {
    id: 'metadata-redirect',
    title: 'If the portal redirects the request for its metadata, the client does not follow the redirect',
    rule: 'UP-02',
    why: 'A client that follows the redirect uses a document from an unknown address. Many HTTP libraries follow redirects by default.',
    fix: 'Switch off redirects for this request, and continue without the document.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const fault = 'metadata-redirect-302'
      const isMet = await startUnder(context, fault)
      await context.startLogin(context.browser())
      await expectMet(context, isMet)
      const trapped = requestAtTrap(context, fault)
      expect(!trapped, 'The client followed the redirect.', ...(trapped ? [trapped] : []))
    },
  },
  {
    id: 'metadata-issuer-revocation',
    title: 'If the issuer in the metadata is not the portal, the client does not revoke a token',
    rule: 'metadata-issuer',
    why: 'The document of another issuer does not describe this portal, and this portal may have no address for revocation. The client would send tokens and its secret to an address that does not exist.',
    fix: 'Compare the issuer field with the configured address of the portal, character by character. If they differ, treat the document as missing.',
    needs: ['process', 'page', 'logout'],
    ...alone,
    async run(context) {
      const isMet = await startUnder(context, 'metadata-members', { members: { issuer: 'https://portal.example' } })
      // A correct client revokes nothing here, so the check always waits for the full time. This time is therefore
      // short.
      const isRevoked = await revokesAtSignOut(context, { seconds: 1 })
      await expectMet(context, isMet)
      await context.dropFaults()
      if (!isRevoked) return
      if (await usesAnyway(context, revokesAtSignOut))
        throw new MayHaveKeptMetadata(
          'the client also revokes tokens if the metadata is missing. It still uses the last valid metadata, or it needs no metadata',
        )
      fail('The client revokes tokens because of a document with the issuer https://portal.example.')
    },
  },
  ...notForgotten.map(
    ({ id, rule, what, faults }): CheckDefinition => ({
      id,
      title: `If ${what}, the client still uses the features that the last valid metadata listed`,
      rule,
      why: 'If the client forgets the features, an attacker can switch off PKCE by disturbing one request for the metadata.',
      fix: 'Keep the last valid document until you can read a new document whose issuer is the portal.',
      isAlone: true,
      async run(context) {
        await letEveryProcessRead(context)
        const browser = browserOfOneProcess(context)
        if (!(await usesPkce(context, browser))) throw new NotApplicable('the client does not use PKCE')
        for (const [fault, options] of faults) {
          const before = context.platform.steps.length
          await context.order(fault, { times: 'always', state: undefined, ...(options && { options }) })
          const later = [await context.startLogin(browser), await context.startLogin(browser)]
          await context.platform.settle()
          await context.dropFaults()
          if (!context.platform.steps.slice(before).some(isMetadata))
            throw new NotApplicable('the client keeps the document, and does not ask again')
          for (const { url, page } of later)
            expect(url.searchParams.has('code_challenge'), `With the fault ${fault}, a login has no PKCE.`, page)
        }
      },
    }),
  ),
]

/** Fields of a metadata document whose addresses are on another host. */
function elsewhere({ platform }: CheckContext, path: string) {
  const at = (end: string) => platform.otherSite.url(`${path}/${end}`)
  return {
    authorization_endpoint: at('authorize'),
    token_endpoint: at('token'),
    revocation_endpoint: at('revoke'),
    end_session_endpoint: at('sign-out'),
    jwks_uri: at('keys'),
    userinfo_endpoint: at('me'),
    introspection_endpoint: at('introspect'),
    registration_endpoint: at('register'),
    pushed_authorization_request_endpoint: at('push'),
    device_authorization_endpoint: at('device'),
  }
}

/**
 * Ends the check if the client uses PKCE without metadata, but only because it remembers a document from an earlier
 * start. To find this out, the function first gives the client a valid document without PKCE, and then no document. A
 * client that remembers documents then does not use PKCE.
 */
async function expectNotRemembered(context: CheckContext): Promise<void> {
  await context.dropFaults()
  const isMet = await startUnder(context, 'metadata-pkce-missing')
  await context.startLogin(context.browser())
  await expectMet(context, isMet)
  await context.dropFaults()
  await startUnder(context, 'metadata-404')
  const { url } = await context.startLogin(context.browser())
  await context.dropFaults()
  if (!url.searchParams.has('code_challenge'))
    throw new MayHaveKeptMetadata(
      'the client still uses the last valid metadata, which it has kept from an earlier start',
    )
}

/**
 * Signs a visitor in, makes the client renew the session, and signs the visitor out. Meanwhile, the document contains
 * the fields in `members`. Fails if the client redirects the browser to the other host, or sends a request to that
 * host.
 */
async function expectNothingThere(context: CheckContext, path: string, members: object): Promise<void> {
  const isMet = await startUnder(context, 'metadata-members', { members })
  const { otherSite } = context.platform
  const browser = context.browser()
  const isOther = (url: URL) => url.pathname.startsWith(path)
  const page = await browser.visit(context.url(context.settings.login), {
    stopAt: url => context.isPortal(url) || isOther(url),
  })
  await expectMet(context, isMet)
  const there = page.stoppedAt === undefined ? undefined : new URL(page.stoppedAt)
  expect(!there || !isOther(there), `The login begins at ${page.stoppedAt?.split('?')[0]}.`, page)
  const expectNothingSent = () => {
    const sent = otherSite.arrived(path)
    expect(
      sent.length === 0,
      `The client sent something to the other host: ${sent.map(({ method, url }) => `${method} ${url.split('?')[0]}`).join(', ')}.`,
    )
  }
  // A client may send its secret to the other host before it redirects the visitor, and then show an error page.
  if (!there) return expectNothingSent()
  const callback = await context.authorize(readStart(page))
  // This access token expires soon, so that the client renews it. The renewal shows which address the client uses.
  const dropShort = await context.order('exchange-expires-in', { options: { value: 2 } })
  const landed = await followCallback(context, browser, callback, { stopAt: isOther })
  await context.platform.settle()
  await dropShort()
  const hasTokens = context.arrived('exchange').some(({ response }) => response.status === 200)
  if (otherSite.arrived(path).length === 0 && !hasTokens)
    throw new Undecided(
      'The client did not exchange a code, so the check cannot see where the client sends its secret and the tokens.',
    )
  if (context.settings.page) {
    const person = await context.person()
    const isStop = (url: URL) => context.isPortal(url) || isOther(url)
    const renews = async () => {
      await browser.visit(context.url(context.settings.page), { stopAt: isStop })
      await context.platform.settle()
      return context.arrived('refresh').length > 0 || otherSite.arrived(path).length > 0
    }
    // Many clients renew after a 401 answer. Other clients renew only after the time in expires_in.
    await context.platform.endAccessTokens(person)
    if (!(await renews())) {
      await endToken(context, person)
      await renews()
    }
  }
  if (context.settings.logout) {
    const left = await signOut(context, browser, landed)
    const link = left.links.find(({ url }) => URL.canParse(url) && isOther(new URL(url)))
    expect(!link, `The page after the sign-out links to ${link?.url}.`, left)
    await untilRevoked(context, () => otherSite.arrived(path).length > 0 || context.arrived('revoke').length > 0, 1)
  }
  expectNothingSent()
}

const definitions: CheckDefinition[] = [
  ...failures,
  ...waits,
  ...others,
  {
    id: 'metadata-issuer-other',
    title: 'The client does not use any address from metadata whose issuer is not the portal',
    rule: 'metadata-issuer',
    why: 'An attacker who can replace the document could send the visitors, their codes and the client secret to another address.',
    fix: 'Compare the issuer field with the configured address of the portal, character by character, before you read any other field.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const path = '/metadata-of-another-issuer'
      const issuer = context.platform.otherSite.url('')
      await expectNothingThere(context, path, { issuer, ...elsewhere(context, path) })
    },
  },
  {
    id: 'metadata-issuer-features',
    title:
      'If the issuer in the metadata is not the portal, the client uses none of the features that the metadata lists',
    rule: 'metadata-issuer',
    why: 'The document describes another server. If this portal does not have a listed feature, the portal can refuse the login.',
    fix: 'Compare the issuer field with the configured address of the portal, character by character. If they differ, treat the document as missing.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const { portalUrl } = context.platform
      const otherPort = new URL(portalUrl)
      otherPort.port = '9'
      for (const issuer of [`${portalUrl}.evil.example`, null, otherPort.origin]) {
        const isMet = await startUnder(context, 'metadata-members', { members: { issuer } })
        const isUsed = await usesPkce(context)
        await expectMet(context, isMet)
        await context.dropFaults()
        const what = issuer === null ? 'a document without an issuer' : `a document with the issuer ${issuer}`
        if (isUsed) await failUnlessUsedAnyway(context, what)
      }
    },
  },
  {
    id: 'metadata-large-refused',
    title: "The client limits the size of the portal's metadata, before and after decompression",
    rule: 'UP-04',
    why: 'A client that reads an answer of any size fills the memory that all visitors share. Many clients limit only the answers to exchanges and API calls.',
    fix: 'Count the decompressed bytes of the document while you read it, and stop at about 64 KiB. Continue without the document.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const { portalUrl } = context.platform
      const document = JSON.stringify({
        issuer: portalUrl,
        authorization_endpoint: `${portalUrl}/`,
        token_endpoint: `${portalUrl}/api/exchangeToken`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      })
      const options = { status: 200, type: json, body: document, largeMiB: 32 }
      const isMet = await startUnder(context, 'metadata-answer', options)
      let what = 'a document of 32 MiB'
      let isUsed = await usesPkce(context)
      await expectMet(context, isMet)
      await context.dropFaults()
      if (!isUsed) {
        // A client that has refused the document asks for it again when the next login begins.
        what = 'a compressed document that decompresses to 32 MiB'
        await context.order('metadata-gzip-bomb', { times: 'always', state: undefined })
        isUsed = (await usesPkce(context)) || (await usesPkce(context))
        await context.dropFaults()
      }
      if (isUsed) await failUnlessUsedAnyway(context, what)
    },
  },
  {
    id: 'metadata-endpoints-elsewhere',
    title: 'When the metadata names another host, the client does not send visitors, codes or tokens to that host',
    rule: 'metadata-no-host',
    why: 'The address of the portal is a setting of the client. If the client takes the address from the document, an attacker who can change the document gets codes, tokens and the client secret.',
    fix: 'Build all addresses from LOGIN_URL, and use the document only to find out which features the portal has.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const path = '/metadata-of-another-host'
      await expectNothingThere(context, path, elsewhere(context, path))
    },
  },
  {
    id: 'metadata-pkce-plain',
    title: 'If the metadata lists only the PKCE method "plain", the client does not use this method',
    rule: 'pkce-s256',
    why: 'With the method plain, the address of the sign-in page contains the verifier. An attacker who can read this address knows the verifier.',
    fix: 'Use PKCE with S256, or no PKCE at all. Never use the method plain.',
    needs: ['process', 'page'],
    ...alone,
    async run(context) {
      const isMet = await startUnder(context, 'metadata-pkce-plain')
      const { url, page } = await context.startLogin(context.browser())
      await expectMet(context, isMet)
      const method = url.searchParams.get('code_challenge_method') ?? 'plain'
      expect(!url.searchParams.has('code_challenge') || method === 'S256', `The method is ${method}.`, page)
      await expectLogin(context, 'Nobody can sign in.')
    },
  },
  ...(
    [
      ['404', 'If there is no metadata'],
      ['pkce-missing', 'If the metadata does not list S256'],
      ['pkce-plain', 'If the metadata lists only the PKCE method "plain"'],
    ] as const
  ).map(
    ([fault, where]): CheckDefinition => ({
      id: `metadata-no-pkce-${fault}`,
      title: `${where}, the client does not use PKCE, and sends only parameters from the specification`,
      rule: 'no-extra-fields',
      why: 'PKCE is not part of the specification. A portal may refuse an unknown parameter, even an empty one.',
      fix: 'Send code_challenge, code_challenge_method and code_verifier only if code_challenge_methods_supported in the last readable document contains S256. Otherwise send only the parameters from the specification.',
      needs: ['process'],
      ...alone,
      async run(context) {
        const isMet = await startUnder(context, `metadata-${fault}`)
        const { url, page } = await context.startLogin(context.browser())
        await expectMet(context, isMet)
        if (fault === '404' && url.searchParams.has('code_challenge')) await expectNotRemembered(context)
        expect(!url.searchParams.has('code_challenge'), 'The request that starts the login has a code_challenge.', page)
        const further = [...url.searchParams.keys()].filter(name => !startParameters.includes(name))
        expect(
          further.length === 0,
          `The request that starts the login has these additional parameters: ${further.join(', ')}.`,
          page,
        )
        const { browser, callback } = await beginLogin(context)
        await followCallback(context, browser, callback)
        for (const step of await context.codeExchanges()) {
          const fields = Object.keys(fieldsOf(step))
          const unknown = fields.filter(name => !exchangeFields.includes(name))
          expect(unknown.length === 0, `The exchange has these additional fields: ${unknown.join(', ')}.`, step)
        }
      },
    }),
  ),
  {
    id: 'metadata-pkce-of-several',
    title: 'The client uses PKCE if the metadata lists S256 together with other methods',
    rule: 'CL-22',
    why: 'A portal can list several methods in any order. A client that looks only at the first method, or accepts only a list with one method, begins logins without PKCE.',
    fix: 'Search the whole list code_challenge_methods_supported for S256.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const methods = ['plain', 'S256', 'S512']
      const isMet = await startUnder(context, 'metadata-members', {
        members: { code_challenge_methods_supported: methods },
      })
      const { url, page } = await context.startLogin(context.browser())
      await expectMet(context, isMet)
      if (url.searchParams.get('code_challenge_method') === 'S256') return
      await context.dropFaults()
      const isUsedOtherwise = await withoutFaultyDocument(context, async other => {
        await other.restartClient()
        return usesPkce(other)
      })
      if (!isUsedOtherwise) throw new NotApplicable('the client does not use PKCE')
      fail(
        `When the metadata lists the methods ${methods.join(', ')}, the login should use S256, but it uses ${url.searchParams.has('code_challenge') ? 'another method' : 'no PKCE'}.`,
        page,
      )
    },
  },
  {
    id: 'metadata-no-revocation',
    title:
      'If the metadata is missing or lists no revocation endpoint, the client does not revoke tokens when a visitor signs out',
    rule: 'revocation-listed',
    why: 'Revocation is not part of the specification of the platform. At some portals, the client would send its secret to an address that does not exist.',
    fix: 'Revoke tokens only if the last readable document contains a revocation_endpoint.',
    needs: ['process', 'page', 'logout'],
    ...alone,
    async run(context) {
      for (const [fault, options] of [
        ['metadata-members', { members: { revocation_endpoint: null } }],
        ['metadata-404', {}],
      ] as const) {
        const isMet = await startUnder(context, fault, options)
        const browser = context.browser()
        const landed = await context.signIn(browser)
        await expectMet(context, isMet)
        if (!(await context.isSignedIn(browser))) throw new ReportedElsewhere('nobody can sign in')
        await signOut(context, browser, landed)
        await context.platform.settle()
        await context.dropFaults()
        const revocations = context.arrived('revoke')
        expect(
          revocations.length === 0,
          `When the visitor signed out, the client sent a token to /api/revokeToken${fault === 'metadata-404' ? ' although there was no metadata' : ''}.`,
          ...revocations,
        )
      }
    },
  },
  {
    id: 'metadata-no-sign-out-link',
    title: "If the metadata lists no end_session_endpoint, no page links to the portal's sign-out",
    rule: 'portal-sign-out-link',
    why: 'The specification of the platform has no sign-out page at the portal. At some portals, the link would lead to an address that does not exist. The visitor would believe that the portal has signed them out.',
    fix: "Show a link to the portal's sign-out only if the last readable document contains an end_session_endpoint.",
    needs: ['process', 'page', 'logout'],
    ...alone,
    async run(context) {
      const isMet = await startUnder(context, 'metadata-members', { members: { end_session_endpoint: null } })
      const browser = context.browser()
      const landed = await context.signIn(browser)
      await expectMet(context, isMet)
      const out = await signOut(context, browser, landed)
      const pages = [landed, out, await context.visitUntilPortal(browser, '/')]
      for (const page of pages) {
        const addresses = [...page.links.map(({ url }) => url), ...page.forms.map(({ action }) => action)]
        const link = addresses.find(url => url.split(/[?#]/)[0] === `${context.platform.portalUrl}/sign-out`)
        expect(link === undefined, `${describePage(page)} has a link to ${link}.`, page)
      }
    },
  },
  {
    id: 'metadata-iss-promised',
    title: 'If the metadata promises the parameter iss in every callback, the client refuses a callback without iss',
    rule: 'iss-promised',
    why: 'An attacker can remove iss from a callback to hide that the callback comes from another issuer.',
    fix: 'If authorization_response_iss_parameter_supported is true in the document, require iss and compare it with the address of the portal.',
    async run(context) {
      await needsMetadata(context)
      for (const what of ['without iss', 'with an empty iss']) {
        const { browser, callback } = await beginLogin(context)
        if (what === 'without iss') callback.searchParams.delete('iss')
        else callback.searchParams.set('iss', '')
        const page = await followCallback(context, browser, callback)
        expect(
          (await context.codeExchanges()).length === 0,
          `The client exchanged the code of a callback ${what}.`,
          page,
        )
      }
      const plain = await beginLogin(context)
      await followCallback(context, plain.browser, plain.callback)
      if ((await context.codeExchanges()).length === 0)
        throw new Undecided('Even for an unchanged callback, the client makes no exchange.')
    },
  },
  {
    id: 'metadata-iss-not-promised',
    title: 'If the metadata does not promise the parameter iss in callbacks, the client accepts a callback without iss',
    rule: 'iss-not-promised',
    why: 'The parameter iss is not part of the specification, so a portal may send callbacks without it.',
    fix: 'Require iss only if authorization_response_iss_parameter_supported is true in the document.',
    needs: ['process', 'page'],
    ...alone,
    async run(context) {
      for (const [fault, options, where] of [
        ['metadata-iss-not-promised', {}, 'the metadata does not promise iss'],
        [
          'metadata-members',
          { members: { authorization_response_iss_parameter_supported: false } },
          'authorization_response_iss_parameter_supported is false',
        ],
        ['metadata-404', {}, 'there is no metadata'],
      ] as const) {
        const isMet = await startUnder(context, fault, options)
        const { browser, callback } = await beginLogin(context)
        await expectMet(context, isMet)
        callback.searchParams.delete('iss')
        const page = await followCallback(context, browser, callback)
        expect(
          await context.isSignedIn(browser),
          `When ${where}, nobody is signed in after a callback without iss.`,
          page,
        )
        await context.dropFaults()
      }
    },
  },
  {
    id: 'metadata-iss-compared',
    title:
      'If a callback has the wrong iss, the client refuses the callback, even if the metadata is missing, does not promise iss, or names another issuer',
    rule: 'CL-23',
    why: 'The metadata says only whether every callback has an iss. A wrong iss always means that another server made the callback. If the client knows its issuer only from the metadata, it accepts every iss while the metadata is missing.',
    fix: 'If a callback has an iss, always compare it with the address of the portal in the settings. Let the metadata decide only whether a callback without iss is allowed.',
    needs: ['process'],
    ...alone,
    async run(context) {
      const evil = 'https://evil.example'
      for (const [fault, options, when] of [
        ['metadata-iss-not-promised', {}, 'While the metadata did not promise iss'],
        ['metadata-404', {}, 'While there was no metadata'],
        ['metadata-members', { members: { issuer: evil } }, 'While the metadata named another issuer'],
      ] as const) {
        const isMet = await startUnder(context, fault, options)
        const { browser, callback } = await beginLogin(context)
        await expectMet(context, isMet)
        callback.searchParams.set('iss', evil)
        const known = context.arrived('exchange').length
        const page = await followCallback(context, browser, callback)
        expect(
          (await context.codeExchanges()).length === known,
          `${when}, the client exchanged the code of a callback from another issuer.`,
          page,
        )
        await requireExchange(context)
        await context.dropFaults()
      }
    },
  },
  {
    id: 'metadata-kept',
    title: 'The client does not read the metadata again for each login or each sign-out',
    rule: 'metadata-kept',
    why: 'The document changes rarely. If the client reads it for each login, every login is slower and needs one more request that can fail.',
    fix: 'Keep the document for an hour.',
    isAlone: true,
    async run(context) {
      await needsMetadata(context)
      const { platform } = context
      const reads = () => platform.steps.filter(step => isMetadata(step) && step.response.status === 200).length
      const before = reads()
      if (before === 0) throw new Undecided('The client has not yet read the metadata.')
      // A client can have several processes, and each process may read the document once.
      const logins = 8
      const opened = []
      for (let login = 0; login < logins; login++) {
        const browser = context.browser()
        opened.push({ browser, page: await context.signIn(browser) })
      }
      await platform.settle()
      expect(
        reads() - before < logins,
        `During ${logins} logins, the client read the metadata ${reads() - before} times.`,
      )
      if (!context.settings.logout) return
      const beforeSignOuts = reads()
      for (const { browser, page } of opened) await signOut(context, browser, page)
      await platform.settle(500)
      expect(
        reads() - beforeSignOuts < logins,
        `During ${logins} sign-outs, the client read the metadata ${reads() - beforeSignOuts} times.`,
      )
    },
  },
  {
    id: 'metadata-not-forgotten',
    title:
      'If the client cannot read the metadata for a while, the client still uses the features that the last metadata listed',
    rule: 'metadata-remembered',
    why: 'If the client forgets the features, an attacker can switch off PKCE by disturbing one request for the metadata.',
    fix: 'Keep the last document, and use it until you can read a new document.',
    isAlone: true,
    async run(context) {
      await letEveryProcessRead(context)
      const { page, logout } = context.settings
      const isRevoking = page !== '' && logout !== undefined && (await revokesAtSignOut(context))
      // If the client revokes nothing, the line above waits for a long time, and an open connection would close.
      const browser = browserOfOneProcess(context)
      if (!(await usesPkce(context, browser))) throw new NotApplicable('the client does not use PKCE')
      const before = context.platform.steps.length
      await context.order('metadata-503', { times: 'always', state: undefined })
      const later: Start[] = []
      // A client may wait a short time before it asks for the document again.
      for (let tries = 0; tries < 2; tries++) {
        if (tries > 0) await context.pause(2000)
        later.push(await context.startLogin(browser), await context.startLogin(browser))
        await context.platform.settle()
        if (context.platform.steps.slice(before).some(isMetadata)) break
      }
      if (!context.platform.steps.slice(before).some(isMetadata))
        throw new NotApplicable('the client keeps the document, and does not ask again')
      for (const { url, page } of later)
        expect(
          url.searchParams.has('code_challenge'),
          'A login that began while the metadata was missing has no PKCE.',
          page,
        )
      if (isRevoking)
        expect(
          await revokesAtSignOut(context, { browser }),
          `While the metadata was missing, the client did not revoke a token within ${revocationSeconds} seconds after a sign-out.`,
        )
    },
  },
]

/**
 * If the client may use a document from an earlier start, the check runs again with another portal. The client cannot
 * have kept a document of this portal.
 */
function withUnknownPortal({ run, ...check }: CheckDefinition): CheckDefinition {
  return {
    ...check,
    async run(context) {
      await needsMetadata(context)
      const kept = await run(context).catch(passMayHaveKept)
      if (!kept) return
      await context.dropFaults()
      if (!canUseOtherPlatform(context.settings)) throw kept
      const failure = await atOtherPlatform(context, other => failureOf(run, other))
      if (failure === 'nothing proven') throw kept
      if (!failure) return
      // A client that does not use the addresses of another platform also fails without a fault.
      if (!(await atOtherPlatform(context, canSignIn))) throw kept
      throw failure
    },
  }
}

function passMayHaveKept(error: unknown): MayHaveKeptMetadata {
  if (error instanceof MayHaveKeptMetadata) return error
  throw error
}

/** Runs the check with a portal that the client does not know. Returns undefined if the check passes. */
async function failureOf(
  run: CheckDefinition['run'],
  other: CheckContext,
): Promise<Failed | 'nothing proven' | undefined> {
  try {
    await run(other)
    return undefined
  } catch (error) {
    if (!(error instanceof Failed)) return 'nothing proven'
    // A request without an answer is recorded only when the client closes the connection.
    await other.platform.settle(2500)
    if (!other.platform.steps.some(isMetadata)) return 'nothing proven'
    return new Failed(error.message, error.evidence.length > 0 ? error.evidence : other.evidence(), error.fix)
  }
}

/** Restarts the client, and returns whether a plain login then works. */
async function canSignIn(context: CheckContext): Promise<boolean> {
  try {
    await context.restartClient()
    await (context.settings.page ? context.signedIn() : requireExchange(context))
    return true
  } catch {
    return false
  }
}

export const metadata = definitions.map(check => (check.restartsClient ? withUnknownPortal(check) : check))
