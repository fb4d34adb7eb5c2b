// Tests that the findings of the suite are true: no correct client fails, and each fix matches the client's mistake.
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { recordAnswerMistakes } from '../../src/conformance/answer-mistakes.ts'
import type { HttpExchange, Page } from '../../src/conformance/browser/browser.ts'
import { checks } from '../../src/conformance/checks.ts'
import type { CheckContext } from '../../src/conformance/context.ts'
import { waitedMs } from '../../src/conformance/findings.ts'
import type { Result } from '../../src/conformance/result.ts'
import { type Behaviour, correct } from './clients/behaviour.ts'
import {
  answerWith,
  bodyWith,
  exchangeWith,
  headersWith,
  laxSession,
  readable,
  saysRemoved,
} from './clients/changes.ts'
import { buildClient } from './clients/client.ts'
import { withDrafts } from './clients/drafts.ts'
import { manyRefreshCookies } from './clients/many-refresh-cookies.ts'
import { keepingDocuments, metadataReader } from './clients/mistakes/metadata.ts'
import { inPages } from './clients/mistakes/pages/whole-list.ts'
import { mistakes } from './clients/mistakes.ts'
import { buildOtherClient, otherClientOptions } from './clients/other-client.ts'
import { page } from './clients/pages.ts'
import { cookieOf, isCreation, isCreationForm } from './clients/requests.ts'
import { sessionsAtServer } from './clients/server-sessions.ts'
import { type Answer, type Login, PlatformError, Refusal, type Settings } from './clients/visit.ts'
import { openStage } from './support/stage.ts'

const stage = await openStage()
t.teardown(stage.close)

/** A client that never renews a session. */
const neverRenews: Partial<Behaviour> = { readRefresh: () => undefined, mostRenewals: 0 }

async function judge(behaviour: Partial<Behaviour>, ...ids: string[]): Promise<Record<string, Result>> {
  const results = await stage.judgeRun(
    settings => buildClient(settings, { ...correct, ...behaviour }),
    checks.filter(({ id }) => ids.includes(id)),
  )
  t.equal(results.length, ids.length, 'every check is there')
  return Object.fromEntries(results.map(result => [result.id, result]))
}

t.test('if the API refuses a form, the advice in `fix` does not mention the referrer policy', async t => {
  const { 'create-works': result } = await judge(
    {
      send: (visit, request) =>
        correct.send(
          visit,
          request.method === 'POST' && request.url.endsWith('/apps/v1') ? { ...request, body: '{}' } : request,
        ),
    },
    'create-works',
  )
  t.match(result, { verdict: 'failed', fix: 'The API refused the call with status 422' })
  t.notMatch(result?.fix, 'no-referrer')
})

t.test(
  "if the Content-Security-Policy stops a form's redirect to the portal, the reason and the fix say so",
  async t => {
    const { change } = mistakes.find(({ name }) => name === 'form-without-a-session-leads-to-the-login')!
    const { 'create-no-session-says-so': result } = await judge(change, 'create-no-session-says-so')
    t.match(result, {
      verdict: 'failed',
      reason: /the Content-Security-Policy of the page with the form forbids a redirect to/,
      fix: /form-action/,
    })
  },
)

const pageWithLinkBack = (_answer: Answer, form: string) => ({
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: `<p>Your session has ended. We keep what you typed.</p><a href="/login">Sign in</a> <a href="/login?returnTo=${form}">Sign in, and back to the form</a>`,
})

for (const [what, change] of [
  ['redirects to the login path', withDrafts()],
  ['answers with a page that links back to the form', withDrafts({ afterKeeping: pageWithLinkBack })],
] as const)
  t.test(`if a client keeps a draft in a cookie during a login, and ${what}, no check of drafts fails`, async t => {
    const results = await judge(
      change,
      ...['create-no-session', 'create-no-session-says-so', 'create-ended-session-says-so', 'next-visitor-draft'],
      ...['create-no-session-long', 'create-ended-session-long', 'edit-no-session-long', 'forms-no-session-says-so'],
      ...['create-draft-once', 'create-sign-in-leads-back', 'edit-overtaken-draft', 'forms-no-session'],
    )
    for (const { id, verdict, reason } of Object.values(results)) t.equal(verdict, 'passed', `${id}: ${reason}`)
  })

t.test(
  'a client that shows the filled-in form again, with character references and without an explanation, passes `create-no-session-long`',
  async t => {
    const showForm = (body: string): Answer => {
      const typed = new URLSearchParams(body).get('redirectUris') ?? ''
      const input = `<input name="redirectUris" value="${typed.replaceAll('/', '&#x2F;')}">`
      return {
        status: 200,
        headers: { 'content-type': 'text/html; charset=utf-8' },
        body: `<form method="post" action="/applications"><input name="name">${input}</form><a href="/login">Sign in</a>`,
      }
    }
    const { 'create-no-session-long': result } = await judge(
      // Visitors without a session see the form, too.
      answerWith((answer, visit) =>
        visit.url.pathname === '/applications' && !correct.readSession(visit) ? showForm(visit.body) : answer,
      ),
      'create-no-session-long',
    )
    t.match(result, { verdict: 'passed' })
  },
)

t.test('if the API refuses every creation, no check says that the API has created an application', async t => {
  const { 'create-once-after-failure': result } = await judge(
    {
      send: (visit, request) => correct.send(visit, isCreation(request) ? { ...request, body: '{}' } : request),
      shareCall: (_visit, _name, act) => act(),
    },
    'create-once-after-failure',
  )
  t.match(result, { verdict: 'undecided', reason: 'the form creates no application' })
})

t.test(
  'if a form comes with Origin: null because its page sends no referrer, the advice in `fix` names the referrer policy',
  async t => {
    const { 'create-works': result } = await judge(
      {
        ...headersWith(() => ({ 'referrer-policy': 'no-referrer' })),
        isFromHere: ({ headers, settings }) => headers.origin === settings.publicUrl,
      },
      'create-works',
    )
    t.match(result, { verdict: 'failed', fix: 'Referrer-Policy: no-referrer' })
  },
)

t.test(
  'if the client refuses a form for another reason, the advice in `fix` does not mention the referrer policy',
  async t => {
    const { 'create-works': result } = await judge({ isFormOf: () => false }, 'create-works')
    t.match(result, { verdict: 'failed', fix: 'The client refused its own form with status 409' })
  },
)

t.test('a client that logs the state passes the check `log-cookies`, although a cookie contains the state', async t => {
  const logins = new Map<string, Login>()
  const found = await judge(
    {
      // The login cookie contains the unencrypted state.
      sealLogin(_visit, _name, login) {
        logins.set(login.state, login)
        return login.state
      },
      unsealLogin: (_visit, _name, text) => logins.get(text),
      logLine: ({ method, url }, status) => `${method} ${url.pathname}${url.search} ${status}`,
    },
    'log-cookies',
    'log-state',
    'log-code',
  )
  t.equal(found['log-cookies']?.verdict, 'passed')
  t.equal(found['log-state']?.verdict, 'failed')
  t.equal(found['log-code']?.verdict, 'failed')
})

t.test('a client that logs a cookie fails the check `log-cookies`', async t => {
  const found = await judge(
    { logLine: ({ setCookies, url }, status) => `${url.pathname} ${status} ${setCookies.join(' ')}` },
    'log-cookies',
  )
  t.equal(found['log-cookies']?.verdict, 'failed')
})

t.test(
  'if a hidden form field contains a path, a client that logs this path still passes the check `log-form-tokens`',
  async t => {
    const forms = new Map<string, unknown>()
    const printsPath: Partial<Behaviour> = {
      seal(visit, name, value) {
        if (name !== 'form') return correct.seal(visit, name, value)
        const path = `/applications/new/${forms.size}/of-this-visitor`
        forms.set(path, value)
        return path
      },
      unseal: (visit, name, text) => (name === 'form' ? forms.get(text) : correct.unseal(visit, name, text)),
      logLine: ({ url, body }, status) => `${url.pathname} ${new URLSearchParams(body).get('form')} ${status}`,
    }
    const found = await judge(printsPath, 'log-form-tokens', 'create-works')
    t.equal(found['create-works']?.verdict, 'passed')
    t.equal(found['log-form-tokens']?.verdict, 'passed')
  },
)

t.test(
  'if the browser sends no login cookie with the callback, the advice of the check `login-works` quotes the attributes of this cookie',
  async t => {
    const isStrict = { loginAttributes: correct.loginAttributes.replace('Lax', 'Strict') }
    const { 'login-works': result } = await judge(isStrict, 'login-works')
    t.match(result, { verdict: 'failed', fix: /sent no cookie with the callback.*SameSite=Strict.*SameSite=Lax/ })
  },
)

t.test('a client whose login path redirects signed-in visitors fails no check about a second login', async t => {
  const leadsOn = answerWith((answer, visit) =>
    visit.url.pathname === '/login' && answer.status === 302 && correct.readSession(visit)
      ? { status: 302, headers: { location: correct.localPath(visit.query.get('returnTo'), visit) } }
      : answer,
  )
  const ids = ['session-new', 'session-replaced', 'cookie-httponly', 'tabs-other-visitor', 'start-after-session-ended']
  for (const result of Object.values(await judge(leadsOn, ...ids))) t.match(result.verdict, /passed|not applicable/)
})

const tooLong = (status: number): Partial<Behaviour> => ({
  isNavigation(visit) {
    if (visit.url.search.length > 2000) throw new Refusal(status, 'That address is too long.')
    return correct.isNavigation(visit)
  },
})

t.test('a client that refuses a long address with status 414 passes the check `return-to-long`', async t => {
  const found = await judge(tooLong(414), 'return-to-long')
  t.equal(found['return-to-long']?.verdict, 'passed')
})

t.test('a client that answers a long address with status 500 fails the check `return-to-long`', async t => {
  const found = await judge(tooLong(500), 'return-to-long')
  t.match(found['return-to-long'], { verdict: 'failed', reason: 'The login path answered with status 500', fix: '414' })
})

t.test(
  'if a client redirects to the portal again and again, the check `login-works` fails, and its reason mentions the redirects',
  async t => {
    const found = await judge(
      {
        afterLogin: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
        comesFromElsewhere: () => false,
      },
      'login-works',
    )
    t.match(found['login-works'], { verdict: 'failed', reason: /went to the portal and back \d+ times/, fix: 'Strict' })
  },
)

t.test(
  'a client that sets a Lax session cookie and answers the callback with a redirect passes the check `login-works`',
  async t => {
    const found = await judge(
      {
        afterLogin: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
        comesFromElsewhere: () => false,
        sessionAttributes: seconds => correct.sessionAttributes(seconds).replace('Strict', 'Lax'),
      },
      'login-works',
      'login-lands-signed-in',
    )
    t.equal(found['login-works']?.verdict, 'passed')
    t.equal(found['login-lands-signed-in']?.verdict, 'passed')
  },
)

t.test(
  'if the callback page redirects by a script, no check fails, and checks that need this redirect are undecided',
  async t => {
    const found = await judge(
      {
        afterLogin: (visit, login) =>
          page(visit, 200, 'Welcome', `<script>location.replace(${JSON.stringify(login.returnTo)})</script>`),
      },
      'login-works',
      'login-lands-signed-in',
      'callback-code-not-in-address',
      'tabs-reload-after-login',
      'return-to-works',
      'exchange-code',
    )
    t.same(Object.fromEntries(Object.entries(found).map(([id, { verdict }]) => [id, verdict])), {
      'login-works': 'passed',
      'login-lands-signed-in': 'undecided',
      'callback-code-not-in-address': 'undecided',
      'return-to-works': 'undecided',
      'exchange-code': 'passed',
      'tabs-reload-after-login': 'undecided',
    })
  },
)

t.test(
  'if the client does not take its settings from the environment, the check `restart-other-settings` does not apply',
  async t => {
    let first: Settings | undefined
    const results = await stage.judge(
      settings => {
        first ??= settings
        return buildClient(first, { ...correct, checkClient: () => {} })
      },
      checks.filter(({ id }) => id === 'restart-other-settings'),
    )
    t.match(results, [{ verdict: 'not applicable', reason: /does not begin logins with another CLIENT_ID/ }])
  },
)

t.test(
  'if the login path answers with an error page that has a script, the check `start-leads-to-portal` fails',
  async t => {
    const found = await judge(
      { afterStart: visit => page(visit, 500, 'Error', '<script>location.reload()</script>') },
      'start-leads-to-portal',
    )
    t.equal(found['start-leads-to-portal']?.verdict, 'failed')
  },
)

t.test(
  'if the portal refuses the exchange, the advice of the check `login-works` contains the reason that the portal gave',
  async t => {
    const found = await judge(
      {
        exchangeForm: (visit, callback, login) =>
          new URLSearchParams({
            ...Object.fromEntries(correct.exchangeForm(visit, callback, login)),
            client_secret: createHash('sha256').update('wrong').digest('hex'),
          }),
      },
      'login-works',
    )
    t.match(found['login-works'], { verdict: 'failed', fix: /secret/i })
  },
)

t.test('the property waitedMs does not include the time between two requests of a navigation', t => {
  const page = {
    trail: [
      { durationMs: 20, startedAt: 0 },
      { durationMs: 30, startedAt: 60_000 },
    ],
  } as unknown as Page
  t.equal(waitedMs(page), 50)
  t.end()
})

t.test('the check `list-5000` does not count the time in which the suite reads the long page', async t => {
  const now = performance.now
  t.teardown(() => {
    performance.now = now
  })
  const page = { status: 200, url: 'http://localhost/', trail: [{ durationMs: 20 }] }
  const visit = async () => {
    performance.now = () => now.call(performance) + 60_000
    return page
  }
  const context = {
    settings: { page: '/' },
    url: () => page.url,
    signedIn: async () => ({ browser: { newTab: () => ({ visit }) } }),
    order: async () => {},
  }
  await t.resolves(checks.find(({ id }) => id === 'list-5000')!.run(context as unknown as CheckContext))
})

t.test('if a client answers a form with status 500, the advice in `fix` is only about this error', async t => {
  const found = await judge({ isFormOf: () => JSON.parse('{') }, 'create-works', 'create-no-session')
  t.match(found['create-works'], { verdict: 'failed', fix: 'The client itself failed' })
})

t.test('the advice of a check never names a library or a function of one language', t => {
  for (const { id, fix } of checks) t.notMatch(fix, /URLSearchParams|AbortSignal|\bfetch\(|redirect: "manual"/, id)
  t.end()
})

t.test(
  'if a client keeps its sessions on the server, no check requires that the cookie expires with the access token',
  async t => {
    const other = await openStage(otherClientOptions)
    t.teardown(other.close)
    const results = await other.judge(
      buildOtherClient,
      checks.filter(({ id }) => id === 'cookie-max-age'),
    )
    t.match(results, [{ verdict: 'not applicable', reason: 'a longer access token does not make the cookies longer' }])
  },
)

t.test(
  'if the portal refuses every exchange, the checks on the address bar and on the size of cookies do not fail',
  async t => {
    const found = await judge(
      exchangeWith(form => form.delete('state')),
      'login-works',
      'callback-code-not-in-address',
      'cookie-headers-in-bounds',
    )
    t.match(found['login-works'], { verdict: 'failed', fix: 'state' })
    t.not(found['callback-code-not-in-address']?.verdict, 'failed')
    t.not(found['cookie-headers-in-bounds']?.verdict, 'failed')
  },
)

t.test(
  'if a client refuses every callback, the advice of the check `exchange-post` is about the refused callback, not about the address of the exchange',
  async t => {
    const strict = correct.loginAttributes.replace('Lax', 'Strict')
    const { 'exchange-post': result } = await judge({ loginAttributes: strict }, 'exchange-post')
    t.match(result, { verdict: 'failed', fix: 'The client refuses the callback' })
  },
)

t.test(
  'if a check has created or found something, and a later check of the same run cannot create or find it, the later check is undecided',
  async t => {
    const { 'create-works': works, 'page-escapes-title': shows } = await judge({}, 'create-works', 'page-escapes-title')
    t.match([works, shows], [{ verdict: 'passed' }, { verdict: 'passed' }])
    const { 'create-reload': creates, 'page-escapes-script': escapes } = await judge(
      { isFormOf: () => false, itemOf: () => '' },
      'create-reload',
      'page-escapes-script',
    )
    t.match(creates, { verdict: 'undecided', reason: /in another check/ })
    t.match(escapes, { verdict: 'undecided', reason: /in another check/ })
  },
)

t.test(
  'if a client uses a number as the access token after a renewal, only the check for this mistake fails',
  async t => {
    const ids = ['missing', 'null', 'empty', 'number', 'list', 'with-newline', 'not-ascii'].map(
      kind => `refresh-access-token-${kind}`,
    )
    const found = await judge(
      {
        async renew(visit, refreshToken) {
          // Makes each renewal slow, so that renewals of several checks would overlap if the checks did not wait for
          // each other.
          await wait(400)
          const behaviour: Behaviour = {
            ...visit.behaviour,
            readTokens: (one, { access_token, ...answer }) =>
              correct.readTokens(one, {
                ...answer,
                access_token: typeof access_token === 'number' ? `${access_token}` : access_token,
              }),
          }
          return correct.renew({ ...visit, behaviour }, refreshToken)
        },
      },
      ...ids,
    )
    t.same(
      Object.values(found)
        .filter(({ verdict }) => verdict !== 'passed')
        .map(({ id, verdict }) => `${id} ${verdict}`),
      ['refresh-access-token-number failed'],
    )
  },
)

t.test(
  'if the application changed after a form was opened, and the client answers the form with a redirect, the finding contains both POST requests',
  async t => {
    const { 'edit-overtaken-kept': result } = await judge(
      mistakes.find(({ name }) => name === 'overtaken-edit-looks-saved')!.change,
      'edit-overtaken-kept',
    )
    t.match(result, { verdict: 'warned', reason: 'with a redirect, and then status 200' })
    t.match(result!.reason, 'did not save the second form')
    t.equal(result!.evidence.filter(text => text.startsWith('POST')).length, 2)
  },
)

/** Revokes the token five seconds after the answer to the visitor. */
const revokesLater: Partial<Behaviour> = {
  async revoke(visit, token) {
    setTimeout(() => correct.revoke(visit, token), 5000)
  },
}

t.test('a client that revokes tokens five seconds after its answer passes the checks about revocations', async t => {
  const ids = [
    'logout-revokes',
    'logout-revokes-access-token',
    'logout-revokes-kept-token',
    'logout-expired-revokes',
    'logout-not-waiting',
    'logout-revocation-address',
    'logout-revocation-encoded',
    'log-failed-revocation',
  ]
  const found = await judge(revokesLater, ...ids)
  for (const id of ids) t.equal(found[id]?.verdict, 'passed', `${id}: ${found[id]?.reason}`)
})

/** The ids of checks that can judge only a client that renews its sessions. */
const needRenewal = [
  'logout-expired-revokes',
  'logout-during-renewal',
  'logout-during-renewal-at-server',
  'logout-during-slow-page',
  'tabs-other-visitor-first-page-late',
]

t.test(
  'a client that keeps its sessions on the server passes the checks about signing out after expiry and during a renewal',
  async t => {
    const found = await judge(sessionsAtServer, ...needRenewal)
    for (const id of needRenewal) t.equal(found[id]?.verdict, 'passed', `${id}: ${found[id]?.reason}`)
  },
)

t.test(
  'if the cookies of a session live as long as the access token, and the session is only in cookies, the check `logout-during-renewal-at-server` does not apply',
  async t => {
    const { 'logout-during-renewal-at-server': result } = await judge(
      {
        noteSignOut: () => {},
        keepSession(visit, tokens) {
          const session = correct.keepSession(visit, tokens)
          visit.setCookies = visit.setCookies.map(line => line.replace(/Max-Age=[1-9]\d*/, `Max-Age=${tokens.seconds}`))
          return session
        },
      },
      'logout-during-renewal-at-server',
    )
    t.match(result, { verdict: 'not applicable', reason: 'a copy of the cookies works after a sign-out' })
  },
)

t.test(
  'if a refresh cookie has the hash of its token in its name, a client may delete the cookie of a refused token by this name',
  async t => {
    const newest = (names: string[]) => names.at(-1)
    const hashed = manyRefreshCookies(newest, names => names)
    const found = await judge(
      {
        ...hashed,
        endRefusedSession({ cookies, setCookies }) {
          const name = newest(cookies.map(([name]) => name).filter(name => name.startsWith(correct.refreshCookie)))
          if (name) setCookies.push(`${name}=; ${correct.refreshAttributes(0)}`)
        },
      },
      'replica-refresh-refused',
      'tabs-other-visitor-expired',
      'tabs-other-visitor-first-page-late',
      'logout-after-two-logins',
    )
    for (const { id, verdict, reason } of Object.values(found)) t.equal(verdict, 'passed', `${id}: ${reason}`)
  },
)

t.test(
  'if all session cookies are Lax, the checks `refresh-not-from-other-site` and `refresh-failed-login` pass',
  async t => {
    const found = await judge(laxSession, 'refresh-not-from-other-site', 'refresh-failed-login')
    for (const { id, verdict, reason } of Object.values(found)) t.equal(verdict, 'passed', `${id}: ${reason}`)
  },
)

t.test('if the server keeps the sessions, the check `replica-refresh-refused` does not apply', async t => {
  const { 'replica-refresh-refused': result } = await judge(sessionsAtServer, 'replica-refresh-refused')
  t.match(result, { verdict: 'not applicable', reason: 'does not send the refresh token' })
})

t.test(
  'if a client never renews a session and keeps its sessions on the server, the checks that need a renewal do not apply',
  async t => {
    const found = await judge({ ...sessionsAtServer, ...neverRenews }, ...needRenewal)
    for (const id of needRenewal) t.equal(found[id]?.verdict, 'not applicable', `${id}: ${found[id]?.reason}`)
  },
)

t.test(
  'if a client answers a sign-out only after it has sent the page that renews the same session, the checks about this sign-out do not apply',
  async t => {
    const found = await judge(
      {
        ...sessionsAtServer,
        // Locks the session during a request, as PHP does.
        async aroundRequest(visit, next) {
          const lock = `lock ${cookieOf(visit, '__Host-id')}`
          const answer = Promise.resolve(visit.memory.get(lock)).then(next)
          visit.memory.set(
            lock,
            answer.catch(() => {}),
          )
          return answer
        },
      },
      'logout-during-renewal',
      'logout-during-renewal-at-server',
      'logout-during-slow-page',
    )
    for (const result of Object.values(found))
      t.match(result, { verdict: 'not applicable', reason: 'answers a sign-out only after the page' })
  },
)

for (const [size, verdict] of [
  [10, 'passed'],
  [3, 'not applicable'],
] as const)
  t.test(
    `if a client shows ${size} applications on each page of the list, \`list-every-page\` is ${verdict}`,
    async t => {
      const { 'list-every-page': result } = await judge(inPages(size), 'list-every-page')
      t.equal(result?.verdict, verdict, `${result?.reason}`)
    },
  )

t.test('if removing an application that is already gone counts as done, the check `change-404` passes', async t => {
  const { 'change-404': result } = await judge(
    {
      async send(visit, call) {
        const answered = await correct.send(visit, call)
        return call.method === 'DELETE' && answered[0] === 404 ? [200, {}] : answered
      },
      ...saysRemoved,
    },
    'change-404',
  )
  t.equal(result?.verdict, 'passed', `${result?.reason}`)
})

t.test('if a client never renews a session, the check `refresh-not-from-other-site` does not apply', async t => {
  const { 'refresh-not-from-other-site': result } = await judge(neverRenews, 'refresh-not-from-other-site')
  t.match(result, { verdict: 'not applicable', reason: 'does not renew the session' })
})

t.test(
  "if a form overwrites somebody else's change, only `edit-overtaken` fails, and `refresh-delivered-with-overtaken-form` relies on it",
  async t => {
    const found = await judge({ isUnchanged: () => true }, 'edit-overtaken', 'refresh-delivered-with-overtaken-form')
    t.match(found, {
      'edit-overtaken': { verdict: 'failed' },
      'refresh-delivered-with-overtaken-form': {
        verdict: 'not applicable',
        reason: 'the form overwrites the other change. Another check reports this',
      },
    })
  },
)

t.test('if a restart loses unfinished logins, two checks about changed settings do not apply', async t => {
  const { change } = mistakes.find(({ name }) => name === 'logins-in-memory')!
  const found = await judge(change, 'restart-other-settings', 'restart-other-redirect-uri')
  for (const result of Object.values(found))
    t.match(result, { verdict: 'not applicable', reason: 'an unfinished login does not survive a restart' })
})

t.test('if a client does not revoke tokens, the finding says how long the check has waited', async t => {
  const found = await judge({ revokes: false }, 'logout-revokes', 'logout-not-waiting')
  t.match(found['logout-revokes'], { verdict: 'warned', reason: 'Within 10 seconds after the sign-out' })
  t.match(found['logout-not-waiting'], {
    verdict: 'not applicable',
    reason: 'does not revoke a token within 10 seconds',
  })
})

/** Keeps the last valid metadata across restarts, and asks for the metadata only once after each start. */
function keepingMetadata(): Partial<Behaviour> {
  let kept: unknown
  return {
    ...metadataReader,
    async aroundRequest(visit, next) {
      const memory = visit.memory
      if (kept !== undefined && !memory.has('metadata')) memory.set('metadata', kept)
      const hasAsked = memory.has('hasAsked')
      if (visit.url.pathname === '/login') memory.set('hasAsked', true)
      const answer = await (hasAsked ? next() : metadataReader.aroundRequest!(visit, next))
      if (memory.has('isRead')) kept = memory.get('metadata')
      return answer
    },
    async revoke(visit, token) {
      setTimeout(() => metadataReader.revoke!(visit, token), 300)
    },
  }
}

t.test(
  'a client that waits four seconds before it asks for the metadata again passes the check `metadata-read-later`',
  async t => {
    const patient: Partial<Behaviour> = {
      ...metadataReader,
      async aroundRequest(visit, next) {
        const { memory } = visit
        const hasWaited = Date.now() - Number(memory.get('askedAt') ?? 0) > 4000
        if (visit.url.pathname !== '/login' || !hasWaited) return next()
        memory.set('askedAt', Date.now())
        return metadataReader.aroundRequest!(visit, next)
      },
    }
    const { 'metadata-read-later': found } = await judge(patient, 'metadata-read-later')
    t.match(found, { verdict: 'passed' })
  },
)

// How a server chooses the process that answers a request. Processes are counted from 0.
const processChoices: { title: string; createChoice: () => (request: IncomingMessage) => number }[] = [
  {
    title: 'the six processes of the client take turns',
    createChoice: () => {
      let requests = 0
      return () => requests++ % 6
    },
  },
  {
    title: 'after every third connection, a new process of the client starts',
    createChoice: () => {
      const ofConnection = new Map<Socket, number>()
      return ({ socket }) => {
        const chosen = ofConnection.get(socket) ?? Math.floor(ofConnection.size / 3)
        ofConnection.set(socket, chosen)
        return chosen
      }
    },
  },
]

for (const { title, createChoice } of processChoices)
  t.test(
    `if each process of a client reads the metadata itself, no check says that a process has forgotten it: ${title}`,
    async t => {
      const ids = [
        'metadata-not-forgotten',
        'metadata-not-forgotten-when-broken',
        'metadata-not-replaced-by-another-issuer',
      ]
      const results = await stage.judgeRun(
        settings => {
          const processes: Server[] = []
          const choose = createChoice()
          return createServer((request, response) => {
            const chosen = choose(request)
            processes[chosen] ??= buildClient(settings, { ...correct, ...metadataReader })
            processes[chosen].emit('request', request, response)
          })
        },
        checks.filter(({ id }) => ids.includes(id)),
      )
      t.equal(results.length, ids.length)
      for (const { id, verdict, reason } of results) {
        t.equal(verdict, 'not applicable', `${id}: ${reason}`)
        t.match(reason, 'the client keeps the document, and does not ask again', id)
      }
    },
  )

t.test('a client that keeps the last valid metadata across restarts fails no check', async t => {
  const ids = [
    'metadata-read-later',
    'metadata-issuer-revocation',
    'metadata-issuer-features',
    'metadata-no-pkce-404',
    'metadata-no-revocation',
  ]
  for (const id of ids) {
    const { [id]: result } = await judge(keepingMetadata(), id)
    t.match(result?.verdict, /^(passed|not applicable)$/, `${id}: ${result?.reason}`)
    if (result?.verdict === 'not applicable' && id !== 'metadata-no-revocation')
      t.match(result.reason, 'the last valid metadata', id)
  }
})

t.test(
  'if a client keeps the metadata of each portal across restarts, the checks use a portal that it does not know',
  async t => {
    const ids = [
      'metadata-404',
      'metadata-never',
      'metadata-issuer-features',
      'metadata-read-later',
      'metadata-no-pkce-404',
    ]
    const found = await judge(keepingDocuments(), ...ids)
    for (const id of ids) t.equal(found[id]?.verdict, 'passed', `${id}: ${found[id]?.reason}`)
  },
)

t.test(
  'if a client keeps the metadata of each portal across restarts, and has a fixed API address, no check fails',
  async t => {
    const keeping = keepingDocuments()
    let apiUrl: string | undefined
    const fixed: Partial<Behaviour> = {
      ...keeping,
      aroundRequest(visit, next) {
        apiUrl ??= visit.settings.apiUrl
        visit.settings = { ...visit.settings, apiUrl }
        return keeping.aroundRequest!(visit, next)
      },
    }
    const { 'metadata-404': result } = await judge(fixed, 'metadata-404')
    t.match(result, { verdict: 'not applicable', reason: 'kept the document from an earlier start' })
  },
)

t.test(
  'if a client keeps the metadata across restarts and never asks again, the check `metadata-no-sign-out-link` does not apply',
  async t => {
    let kept: unknown
    const keepsForever: Partial<Behaviour> = {
      ...metadataReader,
      async aroundRequest(visit, next) {
        const { memory } = visit
        if (kept !== undefined) memory.set('metadata', kept).set('isRead', true)
        const answer = await metadataReader.aroundRequest!(visit, next)
        if (memory.has('isRead')) kept = memory.get('metadata')
        return answer
      },
      signedOut: visit => page(visit, 200, 'Signed out', `<a href="${visit.settings.loginUrl}/sign-out">Portal</a>`),
    }
    const { 'metadata-no-sign-out-link': result } = await judge(keepsForever, 'metadata-no-sign-out-link')
    t.match(result, { verdict: 'not applicable', reason: 'kept the document from an earlier start' })
  },
)

t.test(
  'if a client refuses a request for the login path because the query contains parameters of the portal, no check fails',
  async t => {
    const found = await judge(
      {
        async aroundRequest(visit, next) {
          const isRefused = ['state', 'redirect_uri'].some(name => visit.query.has(name))
          return visit.url.pathname === '/login' && isRefused ? page(visit, 400, 'Wrong address', '') : next()
        },
      },
      'state-not-chosen',
      'start-not-chosen',
    )
    t.match(found, { 'state-not-chosen': { verdict: 'passed' }, 'start-not-chosen': { verdict: 'passed' } })
  },
)

t.test(
  'a client that keeps the PKCE verifier unsealed in an HttpOnly cookie passes `pkce-verifier-hidden`',
  async t => {
    const found = await judge(
      {
        sealLogin: (_visit, _name, login) => readable.write(login),
        unsealLogin: (_visit, _name, text) => readable.read(text),
      },
      'pkce-verifier-hidden',
    )
    t.match(found, { 'pkce-verifier-hidden': { verdict: 'passed' } })
  },
)

t.test(
  'if a form arrives without a session, a client that redirects to a page with an explanation passes the checks',
  async t => {
    const message: Answer = {
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: '<p>Nothing was created.</p>',
    }
    const found = await judge(
      {
        aroundRequest: async (visit, next) => {
          if (visit.url.pathname === '/session-expired') return message
          const isLost = isCreationForm(visit) && !correct.readSession(visit)
          return isLost ? { status: 303, headers: { location: '/session-expired' } } : next()
        },
      },
      'create-no-session-says-so',
      'create-ended-session-says-so',
    )
    t.match(found, {
      'create-no-session-says-so': { verdict: 'passed' },
      'create-ended-session-says-so': { verdict: 'passed' },
    })
  },
)

for (const [name, from, id] of [
  ['metadata-chooses-hosts', 'the metadata', 'metadata-endpoints-elsewhere'],
  ['created-id-is-an-address', 'an answer from the API', 'create-id-elsewhere'],
] as const)
  t.test(`a client that redirects to a host named in ${from} fails ${id}, but passes run-own-redirects`, async t => {
    const found = await judge(mistakes.find(one => one.name === name)!.change, id, 'run-own-redirects')
    t.match(found, { [id]: { verdict: 'failed' }, 'run-own-redirects': { verdict: 'passed' } })
  })

t.test('run-own-redirects accuses a client only if a request to the client has named the site', t => {
  const client = 'http://localhost:3000'
  const exchange = (url: string, referer = ''): HttpExchange => ({
    request: { method: 'GET', url, headers: { referer }, body: '' },
    response: { status: 302, headers: new Headers({ location: 'https://evil.example/' }), setCookies: [], body: '' },
    startedAt: 0,
    durationMs: 1,
  })
  const isAccused = (...exchanges: HttpExchange[]) => {
    const known = { portalUrl: 'http://127.0.0.1:4000', apiUrl: 'http://127.0.0.1:4001', loginPaths: [], page: '' }
    const mistakes = recordAnswerMistakes({
      ...known,
      clients: [client],
      privatePaths: [],
      groupIds: new Set(),
      otherHosts: [],
    })
    mistakes.note(exchanges[0]!, exchanges, new Set())
    return mistakes.first('away') !== undefined
  }
  const answer = exchange(`${client}/callback`)
  t.notOk(isAccused(answer, exchange('https://evil.example/')), 'a request to the other site')
  t.ok(isAccused(answer, exchange(`${client}/login`, 'https://evil.example/')), 'a header')
  t.ok(isAccused(answer, exchange(`${client}/login?next=https%3A%2F%2FEVIL.EXAMPLE`)), 'an address')
  t.end()
})

t.test('a form with one redirect URI on each line passes the check `create-several-addresses`', async t => {
  const found = await judge(
    {
      formOf(_visit, body) {
        const values = new URLSearchParams(body)
        // The API would read a comma inside an address as the end of the address.
        const addresses = values.get('redirectUris')?.replaceAll(',', '%2C').split(/\s+/)
        if (addresses) values.set('redirectUris', addresses.join(','))
        return `${values}`
      },
    },
    'create-several-addresses',
  )
  t.match(found, { 'create-several-addresses': { verdict: 'passed' } })
})

t.test(
  'a search form, an empty maxlength and a minlength for an address pass the check `form-limits-in-html`',
  async t => {
    const search = '<form action="/applications"><input name="name" maxlength="50"></form>'
    const found = await judge(
      bodyWith(body =>
        body
          .replace('</h1>', `</h1>${search}`)
          .replace('<label>name <input', '<label>name <input maxlength=""')
          .replace('<label>redirectUris <input', '<label>redirectUris <input minlength="8"'),
      ),
      'form-limits-in-html',
    )
    t.match(found, { 'form-limits-in-html': { verdict: 'passed' } })
  },
)

t.test('if a form offers the groups as radio buttons, the check `create-chosen-group` chooses one of them', async t => {
  const found = await judge(
    bodyWith(body => {
      const groups = [...body.matchAll(/<option value="([^"]*)"/g)].map(([, id]) => id)
      const buttons = groups.map(id => `<input type="radio" name="groupId" value="${id}">`)
      return body.replace(/<label>groupId .*?<\/label>/, buttons.join(''))
    }),
    'create-chosen-group',
  )
  t.match(found, { 'create-chosen-group': { verdict: 'passed' } })
})

t.test('if the form creates no application, the result of the check `create-once-between-others` says so', async t => {
  const found = await judge({ isFormOf: () => false }, 'create-once-between-others')
  t.match(found, { 'create-once-between-others': { verdict: 'undecided', reason: 'creates no application' } })
})

t.test(
  'if a client rewrites a redirect URI with a URL parser, the advice in `fix` does not recommend a parser',
  async t => {
    const { change } = mistakes.find(({ name }) => name === 'addresses-written-by-a-url-parser')!
    const { 'create-addresses-accepted': result } = await judge(change, 'create-addresses-accepted')
    t.match(result, { verdict: 'failed', fix: 'exactly as it was typed' })
  },
)

t.test(
  'if the renewal before a form fails, a page with status 500 and an explanation passes the check `refresh-kept-for-form`',
  async t => {
    const found = await judge(
      answerWith((answer, visit) =>
        visit.method === 'POST' && answer.status > 500
          ? page(visit, 500, 'Failed', 'The portal did not answer. <a href="/applications">Try again</a>')
          : answer,
      ),
      'refresh-kept-for-form',
    )
    t.match(found, { 'refresh-kept-for-form': { verdict: 'passed' } })
  },
)

t.test(
  'if a busy client answers slowly only once, the checks `create-long-values`, `create-slow-values` and `query-slow-values` try again and pass',
  async t => {
    const found = await judge(
      {
        async aroundRequest(visit, next) {
          const answer = await next()
          const memory = visit.memory
          const sent = visit.body + visit.url.search
          // Searches for plain strings, because a regular expression such as /a{25,}!/ would itself be slow for long
          // values.
          const isLong = sent.includes('+'.repeat(20_000))
          const isShort = ['!', '%21'].some(end => sent.includes('a'.repeat(25) + end))
          const stalls: [key: string, isMet: boolean, ms: number][] = [
            ['long value', isLong, 1500],
            [`short value at ${visit.url.pathname}`, isShort, 3500],
          ]
          for (const [key, isMet, ms] of stalls)
            if (isMet && !memory.has(key)) {
              memory.set(key, true)
              await wait(ms)
            }
          return answer
        },
      },
      'create-long-values',
      'create-slow-values',
      'query-slow-values',
    )
    for (const [id, { verdict, reason }] of Object.entries(found)) t.equal(verdict, 'passed', `${id}: ${reason}`)
  },
)

/** Seals with an additional value, so that the decoded bytes of the cookie have this remainder when divided by three. */
const sealedTo = (remainder: number, encode: (bytes: Buffer) => string): Partial<Behaviour> => ({
  seal(visit, name, value) {
    const sealed = (pad: string) => Buffer.from(correct.seal(visit, name, { value, pad }), 'base64url')
    return encode(['', 'x', 'xx'].map(sealed).find(bytes => bytes.length % 3 === remainder)!)
  },
  unseal: (visit, name, text) => (correct.unseal(visit, name, text) as { value: unknown } | undefined)?.value,
})

for (const [what, change] of [
  ['one more character than the value has', sealedTo(0, bytes => bytes.toString('base64url'))],
  ['text after the padding', sealedTo(1, bytes => bytes.toString('base64'))],
] as const)
  t.test(`if the decoder of a sealed cookie ignores ${what}, the check \`cookie-cut\` passes`, async t => {
    const { 'cookie-cut': result } = await judge(change, 'cookie-cut')
    t.equal(result?.verdict, 'passed', `${result?.reason}`)
  })

t.test(
  'if expires_in is not a number above 0, a client that uses a fixed lifetime fails no check of lifetimes',
  async t => {
    const ids = checks.filter(({ rule }) => rule === 'CL-19').map(({ id }) => id)
    const found = await judge(
      { lifetime: value => (typeof value === 'number' && value > 0 ? correct.lifetime(value) : 3600) },
      ...ids,
    )
    for (const id of ids) t.match(found[id]?.verdict, /^(passed|not applicable)$/, `${id}: ${found[id]?.reason}`)
  },
)

t.test(
  'if a client keeps its sessions on the server and refuses long tokens, no check requires a lifetime of its cookies',
  async t => {
    const refusesLongTokens: Partial<Behaviour> = {
      ...sessionsAtServer,
      keepSession(visit, tokens) {
        const session = sessionsAtServer.keepSession(visit, tokens)
        visit.setCookies = visit.setCookies.map(line => line.replace(/; Max-Age=[1-9]\d*/, ''))
        return session
      },
      readTokens(visit, answer) {
        if (`${answer.access_token}`.length > 2048 || `${answer.refresh_token}`.length > 512)
          throw new PlatformError(502)
        return correct.readTokens(visit, answer)
      },
    }
    const found = await judge(refusesLongTokens, 'cookie-max-age', 'cookie-refresh-age')
    for (const result of Object.values(found))
      t.match(result, { verdict: 'not applicable', reason: /does not make the cookies longer/ }, result.id)
  },
)

t.test("if only the client's own pages may show a page in a frame, the check `callback-not-framed` passes", async t => {
  const found = await judge(
    headersWith(({ settings }) => ({
      'content-security-policy': `default-src 'none'; frame-ancestors ${settings.publicUrl}`,
      'x-frame-options': undefined,
    })),
    'callback-not-framed',
  )
  t.match(found, { 'callback-not-framed': { verdict: 'passed' } })
})

t.test(
  'if the page for a failed login has a form instead of a link, and the form keeps the return address, the checks `return-after-…` pass',
  async t => {
    const ids = ['declined', 'declined-bare', 'error', 'failed-exchange'].map(id => `return-after-${id}`)
    const found = await judge(
      bodyWith(body =>
        body.replace(/<a href="\/login\?returnTo=([^"]*)">Sign in<\/a>/, (_, address: string) => {
          const field = `<input type="hidden" name="returnTo" value="${correct.html(decodeURIComponent(address))}">`
          return `<form action="/login">${field}<button>Sign in</button></form>`
        }),
      ),
      ...ids,
    )
    for (const id of ids) t.equal(found[id]?.verdict, 'passed', `${id}: ${found[id]?.reason}`)
  },
)

t.test(
  'if a client answers each form without a token with status 400, the checks of invalid headers send a GET and pass',
  async t => {
    const found = await judge(
      {
        aroundRequest: async (visit, next) =>
          visit.method === 'POST' ? page(visit, 400, 'The token of the form is missing', '') : next(),
      },
      'raw-two-lengths',
      'raw-space-before-colon',
    )
    for (const { id, verdict, reason } of Object.values(found)) t.equal(verdict, 'passed', `${id}: ${reason}`)
  },
)

t.test('if a client sends an old refresh token, the reason of `refresh-fields-second` says so', async t => {
  const first = new Map<string, string>()
  const { 'refresh-fields-second': result } = await judge(
    {
      renew(visit, refreshToken) {
        const { visitor } = visit.behaviour.readSession(visit) ?? { visitor: 'unknown' }
        if (!first.has(visitor)) first.set(visitor, refreshToken)
        return correct.renew(visit, first.get(visitor)!)
      },
    },
    'refresh-fields-second',
  )
  t.match(result, { verdict: 'failed', reason: 'The renewal sends an older refresh token' })
})

t.test('if the page after a sign-out answers strangers with status 401, the checks of the sign-out pass', async t => {
  const ids = ['logout-ends-session', 'logout-portal-503', 'logout-portal-answers', 'logout-without-refresh-token']
  const found = await judge(
    {
      signedOut: ({ setCookies }) => ({ status: 303, headers: { location: '/applications' }, setCookies }),
      aroundRequest: async (visit, next) => {
        const answer = await next()
        const isSentToLogin = visit.url.pathname === '/applications' && answer.headers?.location !== undefined
        return isSentToLogin ? page(visit, 401, 'Please sign in', '<a href="/login">Sign in</a>') : answer
      },
    },
    ...ids,
  )
  for (const id of ids) t.equal(found[id]?.verdict, 'passed', `${id}: ${found[id]?.reason}`)
})

t.test(
  'if every answer sets a cookie, a refused prefetch of the login path does not count as a login, and a HEAD request does not count as a change of the session',
  async t => {
    const ids = ['start-navigation-only', 'start-head', 'head-keeps-the-session']
    const found = await judge(
      {
        aroundRequest: async (visit, next) => {
          visit.setCookies.push('session-of-nobody=1; Path=/; Secure; HttpOnly; SameSite=Strict')
          return next()
        },
      },
      ...ids,
    )
    for (const id of ids) t.equal(found[id]?.verdict, 'passed', `${id}: ${found[id]?.reason}`)
  },
)

t.test('if only pages with a form give out its token, `logout-twice` passes', async t => {
  const found = await judge(
    {
      aroundRequest: async (visit, next) =>
        visit.method === 'POST' && visit.url.pathname === '/logout' && !correct.readSession(visit)
          ? page(visit, 403, 'The token of the form is missing', '')
          : next(),
    },
    'logout-twice',
  )
  t.match(found, { 'logout-twice': { verdict: 'passed' } })
})

t.test(
  'if a later form offers other groups than the first form, the check is undecided, and does not crash',
  async t => {
    let formsShown = 0
    const withOtherGroups = (body: string) =>
      body.replace(/<input name="groupId" value="([^"]*)"[^>]*>/, (_, id: string) => {
        const shown = formsShown++ === 0 ? id : randomUUID()
        return `<select name="groupId"><option value="${shown}">A group</option></select>`
      })
    const found = await judge(bodyWith(withOtherGroups), 'create-slow-values')
    t.match(found, {
      'create-slow-values': { verdict: 'undecided', reason: /^The form offers no choice groupId=/, isError: undefined },
    })
  },
)
