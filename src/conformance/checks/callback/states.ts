// The state of a login: which browser it belongs to, how often it counts, and how it is compared.
import { randomBytes } from 'node:crypto'
import { NotApplicable, type Row, Undecided } from '../../check.ts'
import { describePage, expect } from '../../findings.ts'
import { beginLogin, errorCallback, expectRefused, followCallback } from '../../steps/callback.ts'

const wrongStates: [id: string, title: string, change: (state: string, query: URLSearchParams) => void][] = [
  ['missing', 'without a state', (_, query) => query.delete('state')],
  ['empty', 'with an empty state', (_, query) => query.set('state', '')],
  ['other', 'with a state that belongs to no login', (state, query) => query.set('state', anotherState(state))],
  [
    'changed',
    'whose state differs in one character',
    (state, query) => query.set('state', `${state.startsWith('A') ? 'B' : 'A'}${state.slice(1)}`),
  ],
  [
    'shortened',
    'with the first half of the state',
    (state, query) => query.set('state', state.slice(0, state.length / 2)),
  ],
  ['longer', 'with characters after the state', (state, query) => query.set('state', `${state}A`)],
  [
    'case',
    'whose state has lower case and upper case letters swapped',
    (state, query) => query.set('state', swapCase(state)),
  ],
  ['undefined', 'whose state is the word undefined', (_, query) => query.set('state', 'undefined')],
  [
    'list',
    'whose state is a list',
    (state, query) => {
      query.delete('state')
      query.append('state[]', state)
    },
  ],
  ['twice', 'with a second, other state', (state, query) => query.append('state', anotherState(state))],
  [
    'twice-first',
    'with a first, other state',
    (state, query) => {
      query.delete('state')
      query.append('state', anotherState(state))
      query.append('state', state)
    },
  ],
]

const stateChecks: Row[] = wrongStates.map(([id, title, change]) => ({
  id: `state-${id}`,
  title: `A callback ${title} is refused before anything is sent`,
  rule: 'CL-04',
  why: 'Only the state distinguishes the answer to a login of this browser from a forged one.',
  fix: 'Before the exchange compare the state of the query with the one that was kept for this browser. Both must be present, and once only.',
  async run(context) {
    const { browser, start, callback } = await beginLogin(context)
    if (start.state === undefined) throw new Undecided('The client sends no state, so none can be compared.')
    if (id === 'case' && swapCase(start.state) === start.state) throw new NotApplicable('the state contains no letters')
    change(start.state, callback.searchParams)
    await expectRefused(context, browser, callback)
  },
}))

export const states: Row[] = [
  ...stateChecks,
  {
    id: 'state-other-browser',
    title: 'A callback is refused in a browser that has begun no login',
    rule: 'CL-03',
    why: "Otherwise an attacker can send a visitor the last step of the attacker's own login.",
    fix: 'Keep the state in a cookie of the browser that began the login. It is not enough to keep it in the memory of the server, or to sign it.',
    async run(context) {
      const { callback } = await beginLogin(context)
      await expectRefused(context, context.browser(), callback)
    },
  },
  {
    id: 'state-other-login',
    title: 'A callback is refused in a browser that has begun another login',
    rule: 'CL-03',
    why: 'The visitor may have another login open, but this callback is not its answer.',
    fix: 'Compare the state itself. It is not enough that there is a pending login.',
    async run(context) {
      const attacker = await context.otherPerson()
      const theirs = await context.startLogin(context.browser())
      const callback = await context.authorize(theirs, attacker)
      const victim = context.browser()
      await context.startLogin(victim)
      const page = await followCallback(context, victim, callback)
      expect((await context.exchanges()).length === 0, "The client exchanged the code of somebody else's login.", page)
      if (context.settings.page)
        expect(
          !(await context.isSignedIn(victim, { person: attacker })),
          'The visitor is signed in as the attacker.',
          page,
        )
    },
  },
  {
    id: 'state-once',
    title: 'The same callback, delivered again, exchanges nothing again',
    rule: 'code-once',
    why: 'A state counts once, and a second exchange of one code revokes the tokens of the first.',
    fix: 'Delete the state with the answer that uses it. If there is a session, lead on to it.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      const before = (await context.exchanges()).length
      if (before === 0) throw new Undecided('The first delivery exchanged nothing.')
      const page = await followCallback(context, browser, callback)
      expect((await context.exchanges()).length === before, 'The second delivery was exchanged, too.', page)
      expect(
        page.status !== 0 && page.status < 500,
        `The second delivery was answered with ${describePage(page)}.`,
        page,
      )
    },
  },
  {
    id: 'state-once-new-code',
    title: 'A state that was used does not count for another code',
    rule: 'CL-05',
    why: 'Otherwise anybody who learns an old callback can finish a new login with it.',
    fix: 'Delete the state with the answer that uses it, also if the login fails.',
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      const before = (await context.exchanges()).length
      if (before === 0) throw new Undecided('The first callback exchanged nothing.')
      const page = await followCallback(context, browser, await context.authorize(start))
      expect(
        (await context.exchanges()).length === before,
        'Another code was exchanged with the state of the finished login.',
        page,
      )
    },
  },
  {
    id: 'state-once-after-restart',
    title: 'A state that was used does not count again after a restart of the client',
    rule: 'CL-05',
    why: 'A client that remembers used states only in memory forgets them at a restart.',
    fix: 'Delete the cookie of the login in the answer that uses it.',
    needs: ['start'],
    isAlone: true,
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if ((await context.exchanges()).length === 0) throw new Undecided('The first callback exchanged nothing.')
      await context.clientProcess!.restart()
      const page = await followCallback(context, browser, await context.authorize(start))
      expect(
        (await context.exchanges()).length === 1,
        'Another code was exchanged with the state of the finished login.',
        page,
      )
    },
  },
  {
    id: 'state-once-on-replica',
    title: 'A state that one instance has used does not count at another',
    rule: 'CL-05',
    why: 'The memory of one process is not shared with the others.',
    fix: 'Delete the cookie of the login in the answer that uses it.',
    needs: ['replica'],
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(context, browser, callback)
      if ((await context.exchanges()).length === 0) throw new Undecided('The first callback exchanged nothing.')
      const { pathname, search } = await context.authorize(start)
      const page = await followCallback(context, browser, context.url(pathname + search, context.settings.replica))
      expect(
        (await context.exchanges()).length === 1,
        'Another code was exchanged with the state of the finished login.',
        page,
      )
    },
  },
  {
    id: 'state-once-after-failure',
    title: 'The state of a login that failed does not count again',
    rule: 'state-once-after-failure',
    why: 'A state allows one answer, and the failed login has used it.',
    fix: 'Delete the state, whatever the result of the login is.',
    async run(context) {
      const { browser, start, callback } = await beginLogin(context)
      await followCallback(
        context,
        browser,
        errorCallback(callback, { error: 'access_denied', state: start.state ?? '' }),
      )
      const page = await followCallback(context, browser, callback)
      expect(
        (await context.exchanges()).length === 0,
        'After an error for this state, a code with the same state was exchanged.',
        page,
      )
    },
  },
  {
    id: 'login-cookie-changed',
    title: 'A callback is refused when the cookies of the login were changed',
    rule: 'CL-03',
    why: 'It is not enough that a cookie is present. Its value must be compared.',
    fix: 'Seal the value of the cookie, or look it up, and refuse a value that you cannot open.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      const cookies = browser.cookies.list(context.platform.redirectUri)
      if (cookies.length === 0) throw new NotApplicable('the login path sets no cookie')
      for (const cookie of cookies) {
        const at = Math.floor(cookie.value.length / 2)
        cookie.value = `${cookie.value.slice(0, at)}${cookie.value[at] === 'A' ? 'B' : 'A'}${cookie.value.slice(at + 1)}`
      }
      const name = cookies.map(({ name }) => name)
      if (!name.every(one => browser.cookies.get(one)?.value === cookies.find(({ name }) => name === one)?.value))
        throw new Undecided('The cookies could not be changed.')
      await expectRefused(context, browser, callback)
    },
  },
  {
    id: 'login-cookie-empty',
    title: 'A callback is refused if neither it nor the cookie has a state',
    rule: 'CL-04',
    why: 'A comparison of two missing values must not count as equal.',
    fix: 'If either value is missing or empty, refuse the callback before you compare.',
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      callback.searchParams.delete('state')
      for (const cookie of browser.cookies.list(context.platform.redirectUri)) cookie.value = ''
      await expectRefused(context, browser, callback)
      callback.searchParams.set('state', '')
      await expectRefused(context, context.browser(), callback)
    },
  },
]

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, letter =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}

/** A new value each time, because a client may remember the ones that it has seen. */
function anotherState(state: string): string {
  return randomBytes(state.length).toString('base64url').slice(0, state.length)
}
