// The state of a login: whose it is, how often it serves, and what is compared.
import { randomBytes } from 'node:crypto'
import { NotApplicable, type Row, Undecided } from '../../check.ts'
import { describePage, expect } from '../../findings.ts'
import { beginLogin, errorCallback, expectRefused, followCallback } from '../../steps/callback.ts'

const wrongStates: [id: string, title: string, change: (state: string, query: URLSearchParams) => void][] = [
  ['missing', 'without a state', (_, query) => query.delete('state')],
  ['empty', 'with an empty state', (_, query) => query.set('state', '')],
  ['other', 'with the state of no login', (state, query) => query.set('state', anotherState(state))],
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
  ['longer', 'whose state goes on after its end', (state, query) => query.set('state', `${state}A`)],
  ['case', 'whose state has small letters for capitals', (state, query) => query.set('state', swapCase(state))],
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
  why: "The state is all that tells an answer to one's own question from a forged one.",
  fix: 'Compare the one state of the query with the one kept for this browser, both present, before the exchange.',
  async run(context) {
    const { browser, start, callback } = await beginLogin(context)
    if (start.state === undefined) throw new Undecided('The client sends no state, so none can be compared.')
    if (id === 'case' && swapCase(start.state) === start.state) throw new NotApplicable('the state has no letters')
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
    why: "An attacker would send a visitor the end of the attacker's own login.",
    fix: 'Keep the state in a cookie of the browser that began, not in the memory of the server alone, nor signed in the state itself.',
    async run(context) {
      const { callback } = await beginLogin(context)
      await expectRefused(context, context.browser(), callback)
    },
  },
  {
    id: 'state-other-login',
    title: 'A callback is refused in a browser that has begun another login',
    rule: 'CL-03',
    why: "That some login is pending does not make this one the visitor's.",
    fix: 'Compare the state itself, not only whether there is a pending login.',
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
    why: 'A state serves once, and a second exchange of one code revokes what the first gave.',
    fix: 'Forget the state with the answer that uses it; where a session is there, lead on to it.',
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
    title: 'A state that has been used does not serve for another code',
    rule: 'CL-05',
    why: 'Otherwise whoever learns an old callback can finish a new login with it.',
    fix: 'Forget the state with the answer that uses it, also where the login fails.',
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
    title: 'A state that has been used does not serve again after the client was started anew',
    rule: 'CL-05',
    why: 'What only the memory of one process remembers is forgotten.',
    fix: 'Take the cookie of the login away in the answer that uses it.',
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
    title: 'A state that one instance has used does not serve at another',
    rule: 'CL-05',
    why: 'What only the memory of one process remembers, the next one does not know.',
    fix: 'Take the cookie of the login away in the answer that uses it.',
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
    title: 'The state of a login that failed does not serve again',
    rule: 'state-once-after-failure',
    why: 'One state, one answer.',
    fix: 'Forget the state whatever comes of the login.',
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
        'After an error for the same state its code was exchanged.',
        page,
      )
    },
  },
  {
    id: 'login-cookie-changed',
    title: 'A callback is refused when the cookies of the login were changed',
    rule: 'CL-03',
    why: 'What the browser keeps must be compared, not only be there.',
    fix: 'Seal what the cookie holds, or look it up, and refuse what does not open.',
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
    title: 'A callback with neither state nor cookie value is refused',
    rule: 'CL-04',
    why: 'Nothing equals nothing: a comparison of two absent values must not pass.',
    fix: 'Refuse before comparing, where either is missing or empty.',
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

/** A new one each time: a client may remember those that it has seen. */
function anotherState(state: string): string {
  return randomBytes(state.length).toString('base64url').slice(0, state.length)
}
