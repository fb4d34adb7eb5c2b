// From the visitor's wish to sign in to the portal's page: the address, the state, the cookie of the login.
import { createHash } from 'node:crypto'
import type { Browser } from '../browser/browser.ts'
import { checksOf, NotApplicable } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { expect, expectSignedIn, setCookiesOf, statusOf } from '../findings.ts'
import { loginCookie } from './login-cookie.ts'
import { findGuess, randomBitsOf, wordsIn } from './state-guesses.ts'

/** What the start must carry, and its value where it is given (part 4.2 of the specification). */
const parameters: [name: string, title: string, expected: (context: CheckContext) => string | undefined][] = [
  ['grant_type', 'The start carries grant_type=authorization', () => 'authorization'],
  ['response_type', 'The start carries response_type=code', () => 'code'],
  ['client_id', 'The start carries the client id', ({ platform }) => platform.clientId],
  ['redirect_uri', 'The start carries the registered redirect URI', ({ platform }) => platform.redirectUri],
  ['cancel_url', 'The start carries an address for those who decline', () => undefined],
  ['state', 'The start carries a state', () => undefined],
]

/** Requests that try to have a say in what the start carries. */
const outsiders: [id: string, what: string, headers: Record<string, string>][] = [
  ['host', 'Host', { host: 'evil.example' }],
  ['forwarded-host', 'X-Forwarded-Host', { 'x-forwarded-host': 'evil.example' }],
  ['forwarded-proto', 'X-Forwarded-Proto', { 'x-forwarded-proto': 'gopher' }],
  ['forwarded', 'Forwarded', { forwarded: 'host=evil.example;proto=https' }],
]

const navigation = {
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'none',
  'sec-fetch-user': '?1',
}

export const startingALogin = checksOf('starting-a-login', [
  {
    id: 'start-leads-to-portal',
    title: 'The login path leads the browser to the login portal, at exactly its address',
    level: 'MUST',
    why: 'A login begins at {login_url}/ and nowhere else (specification, 4.2 and 4.3).',
    mend: 'Answer the login path with a redirect to LOGIN_URL + "/?" and the parameters.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      expect(url.pathname === '/', `The browser was sent to ${url.pathname}, and not to /.`)
      expect(url.hash === '', `The address has a fragment: ${url.hash}`)
    },
  },
  {
    id: 'start-plain-redirect',
    title: 'The login path answers with a redirect, not with a page',
    level: 'SHOULD',
    why: 'A redirect needs no script and leaves nothing in the history (specification, 4.3: "redirects the user\'s browser").',
    mend: 'Answer with status 302 or 303 and a Location.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      expect(
        page.trail.every(one => [302, 303, 307].includes(statusOf(one))),
        `The login path answered with status ${page.status}.`,
      )
    },
  },
  ...parameters.map(([name, title, expected]) => ({
    id: `start-${name.replaceAll('_', '-')}`,
    title,
    level: 'MUST' as const,
    why: `The portal ${name === 'state' ? 'gives it back, and by it the client knows the answer to its own question (specification, 5.5; RFC 6749, 10.12)' : 'needs it and refuses the start otherwise (specification, 4.2)'}.`,
    mend: `Add ${name} to the address of the portal.`,
    async run(context: CheckContext) {
      const { url } = await context.startLogin(context.browser())
      const value = url.searchParams.get(name)
      expect(value, `${name} ${value === null ? 'is not there' : 'is empty'}.`)
      const right = expected(context)
      expect(right === undefined || value === right, `${name} is ${value}, and should be ${right}.`)
    },
  })),
  {
    id: 'start-parameters-once',
    title: 'No parameter of the start is repeated',
    level: 'MUST',
    why: 'Parameters must not be included more than once (RFC 6749, 3.1).',
    mend: 'Set each parameter once, for example with URLSearchParams.set.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const repeated = [...new Set(url.searchParams.keys())].filter(name => url.searchParams.getAll(name).length > 1)
      expect(repeated.length === 0, `Repeated: ${repeated.join(', ')}.`)
    },
  },
  {
    id: 'start-no-secret',
    title: 'The address of the portal holds nothing secret',
    level: 'MUST',
    why: 'The address goes through the browser, its history and logs; the secret is used only from the backend (specification, 5.6).',
    mend: 'Send client_secret, and a code_verifier, in the exchange alone.',
    async run(context) {
      const { page, url } = await context.startLogin(context.browser())
      const secret = context.platform.clientSecret.reveal()
      for (const name of ['client_secret', 'code_verifier', 'password'])
        expect(!url.searchParams.has(name), `The address of the portal holds ${name}.`)
      const answers = page.trail.map(({ response }) =>
        JSON.stringify('headers' in response ? [...response.headers, ...response.setCookies, response.body] : ''),
      )
      expect(!answers.some(text => text.includes(secret)), 'An answer to the browser holds the client secret.')
    },
  },
  {
    id: 'start-cancel-url-own',
    title: 'The address for those who decline is at the client itself',
    level: 'MUST',
    why: 'The portal refuses a cancel_url of another origin than a redirect URI: it would be an open redirect (specification, 4.2; RFC 9700, 4.11.2).',
    mend: 'Set cancel_url to a page of the client.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const cancelUrl = url.searchParams.get('cancel_url') ?? ''
      const isOwn =
        URL.canParse(cancelUrl) && new URL(cancelUrl).origin === new URL(context.platform.redirectUri).origin
      expect(isOwn, `cancel_url is ${cancelUrl || 'not there'}, and the redirect URI ${context.platform.redirectUri}.`)
    },
  },
  {
    id: 'start-not-cached',
    title: 'The answer of the login path may not be kept',
    level: 'MUST',
    why: 'A kept answer gives the same state to two logins (RFC 6749, 10.12; RFC 9111, 5.2.2).',
    mend: 'Send Cache-Control: no-store with it.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const isPermanent = page.trail.some(one => [301, 308].includes(statusOf(one)))
      expect(!isPermanent, 'The redirect is a permanent one, which browsers keep.', page)
      const control = page.trail
        .map(({ response }) => ('headers' in response ? (response.headers.get('cache-control') ?? '') : ''))
        .join(',')
      expect(
        !/\b(public|max-age\s*=\s*[1-9]|s-maxage\s*=\s*[1-9]|immutable)/i.test(control) || /no-store/i.test(control),
        `Cache-Control is ${control}.`,
      )
    },
  },
  {
    id: 'start-no-store',
    title: 'The answer of the login path says Cache-Control: no-store',
    level: 'SHOULD',
    why: 'It holds a state and sets a cookie; a cache that is told nothing may guess (RFC 9111, 4.2.2).',
    mend: 'Send Cache-Control: no-store with it.',
    async run(context) {
      const { page } = await context.startLogin(context.browser())
      const first = page.trail[0]!.response
      const control = 'headers' in first ? (first.headers.get('cache-control') ?? '') : ''
      expect(/no-store/i.test(control), control ? `Cache-Control is ${control}.` : 'There is no Cache-Control.')
    },
  },
  {
    id: 'state-unique',
    title: 'Every login has a state of its own',
    level: 'MUST',
    why: 'A state that comes twice lets one login be finished with the answer to another (specification, 5.5: "a state is generated for each login request"; RFC 6749, 10.12).',
    mend: 'Make a new random state in the handler of each request, never at start and never per session.',
    async run(context) {
      const browser = context.browser()
      const states = [...(await statesOf(context, 12)), ...(await statesOf(context, 12, browser))]
      expect(
        new Set(states).size === states.length,
        `${states.length} logins had ${new Set(states).size} different states.`,
      )
    },
  },
  {
    id: 'state-random',
    title: 'The state cannot be guessed',
    level: 'MUST',
    why: 'Whoever guesses it can finish a login that is not theirs; a token must have 128 random bits (RFC 6749, 10.10 and 10.12).',
    mend: 'Use 16 or more bytes of a cryptographic generator, in base64url.',
    async run(context) {
      const states = await statesOf(context, 24)
      const bits = randomBitsOf(states)
      expect(
        bits >= 112,
        `The part of the state that changes from login to login has about ${Math.floor(bits)} bits; it is ${states[0]!.length} characters long.`,
      )
    },
  },
  {
    id: 'state-128-bits',
    title: 'The state has 128 random bits or more',
    level: 'SHOULD',
    why: 'The chance to guess it must be at most 2 to the power of -128 (RFC 6749, 10.10); a UUID has 122.',
    mend: 'Use 16 or more bytes of a cryptographic generator instead of a UUID.',
    async run(context) {
      const states = await statesOf(context, 24)
      const isUuid = states.every(state =>
        /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(state),
      )
      expect(
        !isUuid && randomBitsOf(states) >= 124,
        isUuid ? 'The state is a UUID, which has 122 random bits.' : 'The state is too short for 128 bits.',
      )
    },
  },
  {
    id: 'state-not-of-time',
    title: 'The state is not made of the time, a counter or the client id',
    level: 'MUST',
    why: 'What can be computed can be guessed, however long it looks (RFC 6749, 10.10).',
    mend: 'Take the state from a cryptographic generator alone.',
    async run(context) {
      const browser = context.browser()
      const before = Date.now()
      const { state = '' } = await context.startLogin(browser)
      const after = Date.now()
      const another = context.browser()
      await context.startLogin(another)
      // A random state may stand in a cookie as it is: everybody knows only what every browser is given.
      const [given, everybody] = [browser, another].map(({ cookies }) =>
        cookies.list(context.platform.redirectUri).map(({ value }) => value),
      )
      const shared = given!.filter(value => everybody!.includes(value))
      const guess = findGuess(state, {
        before,
        after,
        words: [context.platform.clientId, context.platform.redirectUri, 'state', '', ...shared],
      })
      expect(guess === undefined, `The state is ${guess}.`)
    },
  },
  {
    id: 'state-not-chosen',
    title: 'Nobody else can choose the state of a login',
    level: 'MUST',
    why: 'A state that an attacker has chosen proves nothing (RFC 6749, 10.12; RFC 9700, 4.7).',
    mend: 'Ignore a state in the query of the login path.',
    async run(context) {
      const chosen = 'chosen-by-somebody-else-0123456789'
      const { state } = await context.startLogin(
        context.browser(),
        withQuery(context.settings.login, { state: chosen }),
      )
      expect(state !== chosen, 'The state was taken from the query of the login path.')
    },
  },
  {
    id: 'start-not-chosen',
    title: 'Nobody else can choose what the start carries',
    level: 'MUST',
    why: 'A link to the login path could send the code to another client or address (RFC 9700, 4.1).',
    mend: 'Take client_id, redirect_uri and cancel_url from the configuration alone.',
    async run(context) {
      const evil = {
        client_id: 'evil',
        redirect_uri: 'https://evil.example/',
        cancel_url: 'https://evil.example/',
        response_type: 'token',
        grant_type: 'implicit',
      }
      const { url } = await context.startLogin(context.browser(), withQuery(context.settings.login, evil))
      for (const [name, value] of Object.entries(evil))
        expect(!url.searchParams.getAll(name).includes(value), `${name} was taken from the query of the login path.`)
    },
  },
  ...outsiders.map(([id, what, headers]) => ({
    id: `start-${id}`,
    title: `${what} in a request changes nothing of where the portal sends the browser back to`,
    level: 'MUST' as const,
    why: "Headers are the sender's; the redirect URI is the one that is registered (specification, 4.2; RFC 9700, 4.1).",
    mend: `Build redirect_uri and cancel_url from the configuration, never from ${what}.`,
    async run(context: CheckContext) {
      const exchange = await context.request(context.settings.login, { headers: { ...navigation, ...headers } })
      const location = 'headers' in exchange.response ? (exchange.response.headers.get('location') ?? '') : ''
      expect(!location.includes('evil.example') && !location.includes('gopher'), `It led to ${location}`, exchange)
    },
  })),
  {
    id: 'state-after-restart',
    title: 'States go on differing after the client was started anew',
    level: 'MUST',
    why: 'A generator that begins anew gives the states of before (RFC 6749, 10.10).',
    mend: 'Take the state from the cryptographic generator of the system; seed nothing.',
    needs: ['start'],
    isAlone: true,
    async run(context) {
      const before = await statesOf(context, 5)
      await context.clientProcess!.restart()
      const after = await statesOf(context, 5)
      expect(!after.some(state => before.includes(state)), 'A state came again after the restart.')
    },
  },
  {
    id: 'state-of-replica',
    title: 'Two instances never make the same states',
    level: 'MUST',
    why: 'Counters and seeds that each instance has for itself collide (RFC 6749, 10.10).',
    mend: 'Take the state from the cryptographic generator of the system.',
    needs: ['replica'],
    async run(context) {
      const own = await statesOf(context, 8)
      const others = await statesOf(context, 8, undefined, context.settings.replica)
      expect(!others.some(state => own.includes(state)), 'Both instances made the same state.')
    },
  },
  {
    id: 'pkce-used',
    title: 'The start carries a PKCE challenge, where the portal lists S256',
    level: 'SHOULD',
    why: 'It protects the code even when it leaks; recommended for every client (RFC 9700, 2.1.1; RFC 7636).',
    mend: 'Read code_challenge_methods_supported at the portal, make a verifier for each login, and send its S256 challenge.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      expect(url.searchParams.has('code_challenge'), 'There is no code_challenge.')
    },
  },
  {
    id: 'pkce-s256',
    title: 'The PKCE challenge is of the method S256',
    level: 'MUST',
    why: 'With "plain" the challenge is the verifier, in an address (RFC 7636, 4.2 and 7.2).',
    mend: 'Send BASE64URL(SHA256(verifier)), 43 characters, and code_challenge_method=S256.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const challenge = url.searchParams.get('code_challenge')
      if (challenge === null) throw new NotApplicable('the client uses no PKCE')
      expect(
        url.searchParams.get('code_challenge_method') === 'S256',
        `code_challenge_method is ${url.searchParams.get('code_challenge_method')}.`,
      )
      expect(/^[\w-]{43}$/.test(challenge), `The challenge has ${challenge.length} characters; one of SHA-256 has 43.`)
    },
  },
  {
    id: 'pkce-fresh',
    title: 'Every login has a PKCE challenge of its own',
    level: 'MUST',
    why: 'A verifier that serves twice protects neither code (RFC 7636, 7.1: one for each authorization request).',
    mend: 'Make a verifier of 32 random bytes for each login, and keep it with the state.',
    async run(context) {
      const challenges: (string | null)[] = []
      for (let count = 0; count < 6; count++)
        challenges.push((await context.startLogin(context.browser())).url.searchParams.get('code_challenge'))
      if (challenges.every(challenge => challenge === null)) throw new NotApplicable('the client uses no PKCE')
      expect(
        new Set(challenges).size === challenges.length,
        `${challenges.length} logins had ${new Set(challenges).size} challenges.`,
      )
    },
  },
  {
    id: 'pkce-verifier-hidden',
    title: 'The PKCE verifier can be read nowhere but in the exchange',
    level: 'MUST',
    why: 'Whoever reads it beside the code can redeem the code (RFC 7636, 7.1).',
    mend: 'Make a verifier of its own, and keep it sealed in the cookie of the login, or at the server.',
    async run(context) {
      const browser = context.browser()
      const { url } = await context.startLogin(browser)
      const challenge = url.searchParams.get('code_challenge')
      if (challenge === null) throw new NotApplicable('the client uses no PKCE')
      const isVerifier = (text: string) => createHash('sha256').update(text).digest('base64url') === challenge
      for (const [name, value] of url.searchParams) expect(!isVerifier(value), `${name} is the verifier.`)
      for (const { name, value } of browser.cookies.list(context.platform.redirectUri))
        expect(!wordsIn(value).some(isVerifier), `The cookie ${name} shows the verifier.`)
    },
  },
  ...loginCookie,
  {
    id: 'logins-bounded',
    title: 'Logins that were begun and left do not fill the cookie jar',
    level: 'MUST',
    why: 'A browser drops cookies beyond some 180 of a site, and a server refuses headers of more than 8 to 16 KiB (RFC 6265bis, 6.1).',
    mend: 'Keep at most a handful of pending logins, and drop the oldest.',
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 50; count++) await context.startLogin(browser)
      const cookies = browser.cookies.list(context.platform.redirectUri)
      const size = cookies.reduce((sum, { name, value }) => sum + name.length + value.length + 3, 0)
      expect(
        size < 8192 && cookies.length <= 25,
        `After 50 starts there are ${cookies.length} cookies of ${size} bytes together.`,
      )
    },
  },
  {
    id: 'logins-last-works',
    title: 'After many logins that were begun and left, the next one works',
    level: 'MUST',
    why: 'Tabs are left open and links are pressed twice; whoever does so must not be locked out (RFC 6265bis, 6.1).',
    mend: 'Bound what is kept of pending logins, and drop the oldest, never the newest.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      for (let count = 0; count < 30; count++) await context.startLogin(browser)
      await context.signIn(browser)
      await expectSignedIn(context, browser, 'After 30 starts a login did not work.')
    },
  },
  {
    id: 'start-head',
    title: 'HEAD on the login path begins no login',
    level: 'SHOULD',
    why: 'Whoever looks whether a link is alive begins nothing; HEAD is safe (RFC 9110, 9.3.2).',
    mend: 'Answer HEAD with 405, or without a cookie.',
    async run(context) {
      const exchange = await context.request(context.settings.login, { method: 'HEAD', headers: navigation })
      expect(setCookiesOf(exchange).length === 0, 'HEAD set a cookie.', exchange)
    },
  },
  {
    id: 'start-navigation-only',
    title: 'The login path begins a login for a navigation of a whole page alone',
    level: 'SHOULD',
    why: "A page of another site could begin logins by the dozen with images, and push out the visitor's own (RFC 9700, 4.16; Fetch Metadata).",
    mend: 'Refuse frames, images, scripts and prefetches by Sec-Fetch-Dest, Sec-Fetch-Mode and Sec-Purpose.',
    async run(context) {
      const others: Record<string, Record<string, string>> = {
        'A prefetch': { 'sec-purpose': 'prefetch' },
        'A frame of another site': { 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'cross-site' },
        'An image on a page of another site': {
          'sec-fetch-dest': 'image',
          'sec-fetch-mode': 'no-cors',
          'sec-fetch-site': 'cross-site',
        },
        'A script of another site': {
          'sec-fetch-dest': 'empty',
          'sec-fetch-mode': 'cors',
          'sec-fetch-site': 'cross-site',
        },
      }
      for (const [what, headers] of Object.entries(others)) {
        const exchange = await context.request(context.settings.login, { headers: { ...navigation, ...headers } })
        expect(setCookiesOf(exchange).length === 0, `${what} began a login: it was given a cookie.`, exchange)
      }
    },
  },
  {
    id: 'start-without-cookies',
    title: 'A browser that takes no cookies ends on a page that says so, not in a loop',
    level: 'MUST',
    why: 'The portal signs in silently, and client and portal would send the browser back and forth without end (security of the flow, RFC 9700, 4.7: the state is bound to the browser).',
    mend: 'Answer a callback without its cookie with a page, never with a redirect to the login.',
    async run(context) {
      const person = await context.person()
      const browser = context.browser({ losesCookies: true })
      const [name = '', value = ''] = person.portalCookie.split('=')
      browser.cookies.set(context.platform.portalUrl, `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax`)
      const page = await browser.visit(context.url(context.settings.login))
      expect(!page.fault, `The browser gave up: ${page.fault}.`, page)
      expect(
        (await context.exchanges()).length === 0,
        'The code was exchanged, although nothing tied the login to this browser.',
      )
    },
  },
])

async function statesOf(
  context: CheckContext,
  count: number,
  browser?: Browser,
  origin = context.settings.client,
): Promise<string[]> {
  const states: string[] = []
  for (let one = 0; one < count; one++) {
    const { state } = await context.startLogin(browser ?? context.browser(), origin + context.settings.login)
    expect(state, 'There is no state.')
    states.push(state)
  }
  return states
}

function withQuery(path: string, query: Record<string, string>): string {
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query)}`
}
