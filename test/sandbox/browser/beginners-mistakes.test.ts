// The mistakes of beginners. A client that makes one mistake runs as a process, and a visitor uses the client in
// Chromium. The laboratory says in one sentence what went wrong and what to do. The sentence is the same on the
// laboratory's page, in its JSON and in the log.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { reasons } from '../../../src/sandbox/observe/reasons.ts'
import { allow, enterPassword } from '../../browser/support/sign-in.ts'
import { findFreePort } from '../../support/free-port.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import type { Mistake } from '../lab/support/beginners-client.ts'
import { openPortal } from '../support/open-portal.ts'

interface Client {
  origin: string
  clientId: string
  person: { email: string; password: string }
  otherGroupId: string
}

/** The laboratory's answer to a call that makes a client. */
interface Made {
  clientId: string
  groupId: string
  person: Client['person']
  settings: Record<string, string>
}

/** A visitor of the client. `passTime` moves the clock of the sandbox. */
interface Visitor {
  page: Page
  client: Client
  passTime(ms: number): void
}

interface Login {
  id: string
  status: string
  isLoop: boolean
  url: string
  verdict: { sentence: string; fix: string | null; step: { url: string } | null; causes: { cause: string }[] }
  noticed: { id: string; severity: string; wrong: string; mend: string }[]
}

type Visit = (visitor: Visitor) => Promise<unknown>

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).waitFor()

const startAt =
  (host: string): Visit =>
  async ({ page, client }) => {
    await page.goto(client.origin.replace('localhost', host))
    await page.getByRole('link', { name: 'Sign in' }).click()
  }
const start = startAt('localhost')

async function answerPortal({ page, client }: Visitor): Promise<void> {
  await enterPassword(page, client.person)
  await allow(page)
}

/** Signs in for the first time, and waits until the client shows a page with this heading. */
const signInTo =
  (title: string): Visit =>
  async visitor => {
    await start(visitor)
    await answerPortal(visitor)
    await heading(visitor.page, title)
  }
const signIn = signInTo('Your applications')
const failToSignIn = signInTo('Sign-in failed')

/** The visitor starts a login. The portal refuses the login request with an error page that links to the laboratory. */
const failToStart: Visit = async visitor => {
  await start(visitor)
  await visitor.page.locator('summary', { hasText: 'For the developer' }).click()
  await visitor.page.getByRole('link', { name: 'Open this request in the laboratory' }).waitFor()
}

const createOne: Visit = async visitor => {
  await signIn(visitor)
  await visitor.page.getByRole('button', { name: 'create' }).click()
  await heading(visitor.page, /^(Created|Not created)$/)
}

const waitToContinue: Visit = async visitor => {
  await signInTo('Almost there')(visitor)
  visitor.passTime(61_000)
  await visitor.page.getByRole('link', { name: 'Continue' }).click()
  await heading(visitor.page, 'Sign-in failed')
}

/**
 * The visitor comes back after 62 seconds. An access token with a lifetime of one second has expired by then, because
 * the API has no tolerance at the end of a token.
 */
const comeBackTo =
  (title: string): Visit =>
  async visitor => {
    await signIn(visitor)
    visitor.passTime(62_000)
    await visitor.page.reload()
    await heading(visitor.page, title)
  }

const mixHosts: Visit = async visitor => {
  await startAt('127.0.0.1')(visitor)
  await answerPortal(visitor)
  await heading(visitor.page, 'Sign-in failed')
  visitor.passTime(121_000)
}

const goRound: Visit = async visitor => {
  await visitor.page.goto(visitor.client.origin)
  await answerPortal(visitor)
  // The redirects never end, so Chromium gives up.
  await visitor.page.waitForURL('chrome-error://chromewebdata/')
}

const decline: Visit = async visitor => {
  await start(visitor)
  await enterPassword(visitor.page, visitor.client.person)
  await visitor.page.getByRole('button', { name: 'Decline' }).click()
  await heading(visitor.page, 'You did not sign in')
}

const signOutAndIn: Visit = async visitor => {
  await visitor.page.getByRole('button', { name: 'logout' }).click()
  await heading(visitor.page, 'Signed out')
  await start(visitor)
  await heading(visitor.page, 'Your applications')
}

/** The result of a mistake. `neither` means that the platform accepts each request, but the login fails. */
const words = {
  refused: 'is refused, and the laboratory says why',
  accepted: 'is accepted, with a notice',
  neither: 'is not refused, but the laboratory says why the login fails',
}

interface Row {
  is: keyof typeof words
  visit: Visit
  /**
   * The sentence that the laboratory shows. The test replaces `ORIGIN`, `OTHER_ORIGIN` and `GROUP` with real values.
   */
  sentence: string
  fix?: string
  /** The notice about the mistake, and the severity of the notice. */
  notice?: [id: string, severity: string]
}

/** A mistake after which the portal refuses the exchange, at step 5 of the login, for this reason. */
const refusedExchange = (reason: keyof typeof reasons, notice?: Row['notice']): Row => ({
  is: 'refused',
  visit: failToSignIn,
  sentence: `Refused at step 5: ${reasons[reason].found}`,
  fix: reasons[reason].fix,
  ...(notice && { notice }),
})

const rows: Record<Mistake, Row> = {
  'redirect URI with another path': {
    is: 'refused',
    visit: failToStart,
    sentence: 'Refused at step 1: redirect_uri has the path /callback, but the registered address has /exchangeToken.',
    fix: 'Send the registered address, or register the address that you send.',
    notice: ['other-redirect-uri', 'error'],
  },
  'redirect URI with a slash at its end': {
    is: 'refused',
    visit: failToStart,
    sentence: 'Refused at step 1: redirect_uri ends with /, but the registered address does not.',
    fix: 'Send the registered address, or register the address that you send.',
    notice: ['other-redirect-uri', 'error'],
  },
  'no cancel_url': {
    is: 'refused',
    visit: failToStart,
    sentence: 'Refused at step 1: cancel_url is missing.',
    fix: reasons['cancel-url-foreign'].fix,
  },
  'no state': { is: 'accepted', visit: signIn, sentence: 'Signed in at step 5.', notice: ['no-state', 'error'] },
  'no state at the exchange': refusedExchange('state-missing', ['no-state-at-exchange', 'error']),
  'another state at the exchange': refusedExchange('state-differs', ['invented-state', 'error']),
  'code exchanged twice': {
    is: 'refused',
    visit: signIn,
    sentence:
      'Signed in at step 5, then 1 call was refused. Refused at step 6: The code was already used at step 5. Later calls succeeded.',
    fix: reasons['code-used'].fix,
    notice: ['code-sent-twice', 'warning'],
  },
  'code exchanged late': {
    is: 'refused',
    visit: waitToContinue,
    sentence: 'Refused at step 5: The code has expired. It was issued at step 4, 61 seconds earlier.',
    fix: reasons['code-expired'].fix,
  },
  'wrong secret': refusedExchange('secret-wrong'),
  'exchange in JSON': {
    is: 'accepted',
    visit: signIn,
    sentence: 'Signed in at step 5.',
    notice: ['json-exchange', 'info'],
  },
  'exchange in the address': refusedExchange('field-misplaced', ['secret-in-address', 'error']),
  'opened at 127.0.0.1, registered at localhost': {
    is: 'neither',
    visit: mixHosts,
    sentence:
      'Never exchanged: the portal issued a code at step 4, and no client has exchanged it. The login began at OTHER_ORIGIN, and came back to ORIGIN. Nothing has happened for two minutes.',
    fix: 'Open the client at ORIGIN, or register a redirect URI at OTHER_ORIGIN. A browser stores the cookies of the two hosts separately, so the client does not find the login that it began.',
  },
  'PKCE challenge sent as the verifier': refusedExchange('verifier-differs'),
  'no verifier': refusedExchange('verifier-missing'),
  'no Bearer before the token': {
    is: 'refused',
    visit: signInTo('The list cannot be shown'),
    sentence:
      'Signed in at step 5, then 1 call was refused. Refused at step 6: The Authorization header does not begin with Bearer.',
    fix: reasons['token-missing'].fix,
  },
  'expired token': {
    is: 'refused',
    visit: comeBackTo('The list cannot be shown'),
    sentence: `Signed in at step 5, then 1 call was refused. Refused at step 7: ${reasons['token-expired'].found}`,
    fix: reasons['token-expired'].fix,
    notice: ['expired-token', 'warning'],
  },
  'no envelope': { is: 'accepted', visit: createOne, sentence: 'Signed in at step 5.', notice: ['flat-body', 'info'] },
  'no groupId': {
    is: 'refused',
    visit: createOne,
    sentence: 'Signed in at step 5, then 1 call was refused. Refused at step 7: groupId is missing.',
    fix: reasons['group-unknown'].fix,
  },
  'groupId of no group': {
    is: 'refused',
    visit: createOne,
    sentence: `Signed in at step 5, then 1 call was refused. Refused at step 7: ${reasons['group-unknown'].found}`,
    fix: reasons['group-unknown'].fix,
  },
  'groupId of a group of others': {
    is: 'refused',
    visit: createOne,
    sentence:
      'Signed in at step 5, then 1 call was refused. Refused at step 7: The visitor is not a member of the group GROUP.',
    fix: reasons['group-unknown'].fix,
  },
  'Strict cookie and a redirect': {
    is: 'neither',
    visit: goRound,
    sentence:
      'Signed in at step 2. This login is one of 5 logins in one browser, and the client made no call between them. This may be a loop.',
    fix: 'Your client probably does not receive its session cookie, so it starts a new login each time. Check the causes that are listed for this login, one after the other.',
  },
}

/** Visits to a client that makes no mistake. Each key completes the sentence "a visitor …". */
const goodVisits: Record<string, Visit> = {
  'who signs in': signIn,
  'who creates an application': createOne,
  'who comes back when the token has expired': comeBackTo('Your applications'),
  'who declines, starts again and allows': async visitor => {
    await decline(visitor)
    await visitor.page.getByRole('link', { name: 'Sign in' }).click()
    await allow(visitor.page)
    await heading(visitor.page, 'Your applications')
  },
  'who signs out and signs in again, three times': async visitor => {
    await signIn(visitor)
    for (const seconds of [10, 10, 10]) {
      visitor.passTime(seconds * 1000)
      await signOutAndIn(visitor)
    }
  },
}

const clientFile = fileURLToPath(import.meta.resolve('../lab/support/beginners-client.ts'))

t.test('the laboratory explains each mistake of a beginner’s client', { skip }, async t => {
  const portal = await openPortal(t)
  const labUrl = portal.sandbox.config.lab!.urls[0]!
  const { passTime } = portal.sandbox
  const otherGroupId = (await callLab<Made>('POST', 'applications', { redirectUri: 'http://localhost/' })).groupId

  async function callLab<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${labUrl}/lab/v1/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return answer.json() as Promise<Answer>
  }

  /** Starts a client as a process, and makes a new user at the portal. */
  async function startClient(t: Test, mistake: Mistake | '', lifetimes: object): Promise<Client> {
    const port = await findFreePort()
    const origin = `http://localhost:${port}`
    const made = await callLab<Made>('POST', 'applications', { redirectUri: `${origin}/exchangeToken`, lifetimes })
    const env = {
      ...made.settings,
      PORT: `${port}`,
      GROUP_ID: made.groupId,
      OTHER_GROUP_ID: otherGroupId,
      MISTAKE: mistake,
    }
    const child = spawn(process.execPath, [clientFile], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(async () => {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    })
    await once(child.stdout, 'data')
    return { origin, clientId: made.clientId, person: made.person, otherGroupId }
  }

  /**
   * Lets a visitor use a new client. Resolves to three things: the client, the page in Chromium, and the client's
   * logins with the newest login first.
   */
  async function visit(t: Test, mistake: Mistake | '', go: Visit, lifetimes = {}) {
    const client = await startClient(t, mistake, lifetimes)
    const { page } = await openPage(t)
    await go({ page, client, passTime })
    return { client, page, logins: await readLogins(client) }
  }

  async function readLogins({ clientId }: Client): Promise<Login[]> {
    const { logins } = await callLab<{ logins: Login[] }>('GET', `logins?clientId=${clientId}`)
    return Promise.all(logins.map(({ id }) => callLab<Login>('GET', `logins/${id}`)))
  }

  /** Returns the log lines about a login. */
  function readLog({ id }: Login): { code: string; sentence: string; fix?: string; notice?: string }[] {
    return portal.sandbox.logLines.map(line => JSON.parse(line)).filter(({ loginId }) => loginId === id)
  }

  const textOf = async (page: Page, selector: string) =>
    ((await page.locator(selector).textContent()) ?? '').replaceAll(/\s+/g, ' ')

  for (const [name, row] of Object.entries(rows) as [Mistake, Row][])
    t.test(`the mistake “${name}” ${words[row.is]}`, async t => {
      const lifetimes = name === 'expired token' ? { accessTokenSeconds: 1 } : {}
      const { client, page, logins } = await visit(t, name, row.visit, lifetimes)
      const fill = (text: string) =>
        text
          .replaceAll('OTHER_ORIGIN', client.origin.replace('localhost', '127.0.0.1'))
          .replaceAll('ORIGIN', client.origin)
          .replaceAll('GROUP', client.otherGroupId)
      const [login] = logins as [Login]
      const sentence = fill(row.sentence)
      const fix = row.fix && fill(row.fix)
      t.match(login.verdict, { sentence, fix: fix ?? null }, 'JSON')

      await page.goto(login.url)
      const shown = await textOf(page, 'main')
      const place = shown.indexOf([sentence, fix].filter(Boolean).join(' '))
      t.ok(
        place >= 0 && place < shown.indexOf('What happened'),
        `the page must begin with the sentence: ${shown.slice(0, 400)}`,
      )

      if (row.fix) {
        // The log contains the verdict from the time of the mistake. Later calls do not change it.
        const logged = sentence.replace(' Later calls succeeded.', '')
        while (!readLog(login).some(({ code }) => code === 'lab-verdict')) await wait(100)
        t.match(
          readLog(login).findLast(({ code }) => code === 'lab-verdict'),
          { sentence: logged, fix },
          'log',
        )
      } else
        t.notOk(
          readLog(login).some(({ code }) => code === 'lab-verdict'),
          'the log must have no verdict about a successful login',
        )

      const [id, severity] = row.notice ?? []
      t.same(
        login.noticed.map(one => [one.id, one.severity]),
        row.notice ? [[id, severity]] : [],
        'notices',
      )
      for (const { wrong, mend } of login.noticed) {
        t.ok(shown.indexOf(wrong) > shown.indexOf('What happened'), 'the notice must come after the evidence')
        t.match(
          readLog(login).find(({ notice }) => notice === id),
          { sentence: wrong, fix: mend },
          'log',
        )
      }
    })

  for (const [name, go] of Object.entries(goodVisits))
    t.test(`the laboratory reports no mistake when a correct client is used by a visitor ${name}`, async t => {
      const { logins } = await visit(t, '', go, { accessTokenSeconds: 1 })
      const [newest, ...others] = logins
      t.match(newest, { status: 'signed in', verdict: { sentence: /^Signed in at step \d\.$/, fix: null } })
      for (const { status } of others) t.match(status, /^(signed in|declined)$/)
      for (const login of logins) {
        t.equal(login.isLoop, false)
        t.same(login.noticed, [])
        t.same(readLog(login), [], 'the log must have no line about the login')
      }
    })
})
