// Tests how sessions are renewed and how they end, with refresh tokens that the sandbox's portal issues.
import t from 'tap'
import { HttpBrowser } from './support/http-browser.ts'
import { logIn } from './support/log-in.ts'
import { type Both, startBoth } from './support/start-both.ts'

/** A clock that a test moves. */
function movableClock() {
  let ahead = 0
  return {
    clock: () => new Date(Date.now() + ahead),
    pass: (seconds: number) => {
      ahead += seconds * 1000
    },
  }
}

const day = 24 * 60 * 60
const countEvents = ({ log }: Both, event: string) => log.filter(line => line.includes(`"event":"${event}"`)).length

t.test(
  'CK-09: after the access token has expired, the client renews the session once for the first page, and shows the page',
  async t => {
    const { clock, pass } = movableClock()
    const both = await startBoth(t, { clock })
    const { publicUrl } = both
    const browser = new HttpBrowser(clock)
    await logIn(browser, both)
    pass(day + 1)
    t.notOk(browser.cookies('localhost').includes('__Host-session'), 'the browser must have deleted the session cookie')
    t.match(await browser.get(`${publicUrl}/applications`), { status: 200, text: 'Reference client' })
    t.equal(countEvents(both, 'session_renewed'), 1)
    t.match(await browser.get(`${publicUrl}/applications`), { status: 200 })
    t.equal(countEvents(both, 'session_renewed'), 1)
  },
)

t.test(
  'RF-02: just after the access token has expired, two replicas answer all twenty page requests that arrive at the same time',
  async t => {
    const { clock, pass } = movableClock()
    const both = await startBoth(t, { clock, replicas: 2 })
    const { front, publicUrl } = both
    const browser = new HttpBrowser(clock)
    await logIn(browser, both)
    for (const round of ['once', 'and once more']) {
      pass(day + 1)
      const pages = await Promise.all(Array.from({ length: 20 }, () => browser.get(`${publicUrl}/applications`)))
      t.same(
        pages.map(({ status }) => status),
        Array(20).fill(200),
        round,
      )
      const names = browser.cookies('localhost').filter(name => name.startsWith('__Host-refresh-'))
      t.equal(names.length, 1, 'the browser must have one refresh cookie')
    }
    t.same(new Set(front.seen.map(({ replica }) => replica)), new Set([0, 1]))
    t.ok(countEvents(both, 'session_renewed') >= 4, 'both replicas must have renewed in both rounds')

    pass(60)
    t.match(await browser.get(`${publicUrl}/applications`), { status: 200 }, 'the cookies must work')
    pass(day)
    t.match(
      await browser.get(`${publicUrl}/applications`),
      { status: 200 },
      'the portal must not have revoked the tokens',
    )
  },
)

t.test(
  'CK-15: after the visitor has signed out, copies of the cookies cannot open a page, either immediately or later',
  async t => {
    const { clock, pass } = movableClock()
    const both = await startBoth(t, { clock })
    const { publicUrl } = both
    const browser = new HttpBrowser(clock)
    await logIn(browser, both)
    const thief = browser.copy()
    t.match(
      await thief.get(`${publicUrl}/applications`),
      { status: 200, text: 'Reference client' },
      'before the sign-out the copy must work',
    )
    const copy = thief.copy()
    await browser.post(`${publicUrl}/logout`, {})

    t.match(await thief.get(`${publicUrl}/applications`), { status: 401 })
    pass(day + 1)
    const later = await copy.get(`${publicUrl}/applications`)
    t.match(later.location, /^\/login/)
    t.equal(countEvents(both, 'session_renewed'), 0)
  },
)
