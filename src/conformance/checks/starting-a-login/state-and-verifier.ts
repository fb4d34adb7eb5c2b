// Checks on the values of a login that an attacker must not guess or choose: the state, the PKCE verifier and the
// redirect URI.
import { createHash } from 'node:crypto'
import { bitsOf, isUuid } from '../../../sandbox/lab/record/entropy.ts'
import type { Browser, Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, headerOf } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { typedAddress } from '../../steps/callback.ts'
import { changingBitsOf } from '../../steps/changing-bits.ts'
import { otherSchemeOf, similarHosts } from '../../steps/hosts.ts'
import { startsOf } from '../../steps/starts.ts'
import { findGuess, wordsIn } from '../../steps/state-guesses.ts'

/** Wrong hosts. A framework may refuse an unknown host, and accept a host that is similar to the host of the client. */
const wrongHosts = (client: string) => ['evil.example', ...similarHosts(client)]

/**
 * Request headers from which a client could wrongly build the redirect URI. Many clients only check whether
 * X-Forwarded-Proto is https. The check therefore sends two schemes: a scheme that nobody uses, and http or https.
 */
const outsiders: [id: string, what: string, headers: (client: string) => Record<string, string>[]][] = [
  ['host', 'Host', client => wrongHosts(client).map(host => ({ host }))],
  ['forwarded-host', 'X-Forwarded-Host', client => wrongHosts(client).map(host => ({ 'x-forwarded-host': host }))],
  [
    'forwarded-proto',
    'X-Forwarded-Proto',
    client => [{ 'x-forwarded-proto': 'gopher' }, { 'x-forwarded-proto': otherSchemeOf(client) }],
  ],
  ['forwarded', 'Forwarded', () => [{ forwarded: 'host=evil.example;proto=https' }]],
]

const otherOutsiders: Record<string, string>[] = [
  { 'x-forwarded-port': '9999' },
  { 'x-forwarded-prefix': '/evil' },
  { 'x-script-name': '/evil' },
  { 'x-forwarded-server': 'evil.example' },
  { 'x-forwarded-ssl': 'on' },
  { 'x-original-host': 'evil.example' },
  { 'x-host': 'evil.example' },
  { 'x-http-host-override': 'evil.example' },
  { 'x-forwarded-scheme': 'https' },
  { 'x-url-scheme': 'https' },
  { 'front-end-https': 'on' },
  { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' },
  { origin: 'https://evil.example' },
  { referer: 'https://evil.example/page' },
]

/**
 * Begins a login with the headers. Fails if redirect_uri or cancel_url in the redirect to the portal differs from its
 * value in a login without the headers. The client may also refuse the request.
 */
async function expectSameAddresses(context: CheckContext, headers: Record<string, string>): Promise<void> {
  const plain = (await context.startLogin(context.browser())).url
  const exchange = await context.request(context.settings.login, { headers: { ...typedAddress, ...headers } })
  const location = headerOf(exchange, 'location') ?? ''
  const url = URL.canParse(location) ? new URL(location) : undefined
  // Any other redirect, for example to another address of the client, begins no login.
  if (!url?.searchParams.has('response_type')) return
  const sent = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')
  expect(
    url.origin === plain.origin,
    `A request with the header "${sent}" is redirected to ${url.origin} instead of the portal.`,
    exchange,
  )
  // Leaves out the query, because the query of cancel_url may contain the state of the login.
  const addressIn = (start: URL, name: string) => start.searchParams.get(name)?.replace(/[?#].*$/s, '')
  for (const name of ['redirect_uri', 'cancel_url'])
    expect(
      addressIn(url, name) === addressIn(plain, name),
      `A request with the header "${sent}" begins a login with the ${name} ${addressIn(url, name)}. Without this header, the ${name} is ${addressIn(plain, name)}.`,
      exchange,
    )
}

/** Parameters of a login path that clients often pass on to a portal. */
const passedOn = [
  ...['lang', 'language', 'locale', 'hl', 'email', 'user', 'username', 'hint', 'idp', 'connection', 'theme', 'screen'],
  ...['tenant', 'organization', 'org', 'invitation', 'signup', 'mode', 'from', 'ref', 'utm_source', 'utm_campaign'],
]

export const stateAndVerifier: CheckDefinition[] = [
  {
    id: 'state-unique',
    title: 'Every login has a new state',
    rule: 'state-per-login',
    why: 'If two logins have the same state, an attacker can finish one login with the callback of the other login.',
    fix: 'Create a new random state for each request to the login path. Do not use one state for the whole program or for a whole session.',
    async run(context) {
      const browser = context.browser()
      const states = [...(await statesOf(context, 12)), ...(await statesOf(context, 12, browser))]
      expect(
        new Set(states).size === states.length,
        `${states.length} logins had only ${new Set(states).size} different states.`,
      )
    },
  },
  {
    id: 'state-every-way',
    title: 'Whichever way a login begins, the state of the login is new and long enough',
    rule: 'state-per-login',
    why: 'A login can also begin from a page behind the login, with a return address, after a failed login, or while somebody is signed in. Clients often have separate code for these cases.',
    fix: 'Create the state of every login in one function, and never use a state for a second login.',
    async run(context) {
      const states = new Map<string, string>()
      for (const { way, start } of await startsOf(context)) {
        const { state = '' } = start
        expect(
          !states.has(state),
          `The logins that began ${states.get(state)} and ${way} have the same state.`,
          start.page,
        )
        expect(
          bitsOf(state) >= 112,
          `The login that began ${way} has a state of ${state.length} characters, which is too short for 112 random bits.`,
          start.page,
        )
        states.set(state, way)
      }
    },
  },
  {
    id: 'state-encoded',
    title: 'The portal reads exactly the state that the client has created',
    rule: 'login-works',
    why: 'In an address, a plus sign stands for a space. If a state is in base64 and the client does not percent-encode it, the portal returns a different value, and the login of some visitors fails.',
    fix: 'Build the query with a library that encodes each value, or write the state in base64url or in hexadecimal digits.',
    async run(context) {
      const states = await statesOf(context, 24)
      const broken = states.filter(state => /\s/.test(state))
      expect(broken.length === 0, `${broken.length} of 24 states contain a space, because a plus sign was not encoded.`)
    },
  },
  {
    id: 'state-random',
    title: 'Nobody can guess the state',
    rule: 'CL-02',
    why: 'An attacker who guesses the state can finish the login of a visitor. A state must have 128 random bits.',
    fix: 'Use at least 16 bytes from a cryptographically secure random number generator, in base64url.',
    async run(context) {
      const states = await statesOf(context, 24)
      const bits = changingBitsOf(states)
      // A UUID passes, because changingBitsOf estimates 120 bits for it. The check state-128-bits reports a UUID.
      expect(
        bits >= 112,
        `The states are ${states[0]!.length} characters long, and only about ${Math.floor(bits)} bits differ between logins.`,
      )
    },
  },
  {
    id: 'state-128-bits',
    title: 'The state has at least 128 random bits',
    rule: 'state-128-bits',
    why: 'With 128 random bits, nobody can guess a state, even with very many attempts. A UUID has only 122 random bits.',
    fix: 'Do not use a UUID. Use at least 16 bytes from a cryptographically secure random number generator.',
    async run(context) {
      const states = await statesOf(context, 24)
      const areUuids = states.every(isUuid)
      // 16 bytes in base64url are 22 characters long. The last character has only four values, so changingBitsOf does
      // not count it, and estimates 126 bits.
      expect(
        !areUuids && changingBitsOf(states) >= 124,
        areUuids
          ? 'The state is a UUID, which has 122 random bits.'
          : `The states are ${states[0]!.length} characters long, and only about ${Math.floor(changingBitsOf(states))} bits differ between logins.`,
      )
    },
  },
  {
    id: 'state-not-of-time',
    title: 'The state is not computed from the time, a counter, the client id or the address of the visitor',
    rule: 'CL-02',
    why: 'An attacker can compute such a state, even if the state is long.',
    fix: 'Take the state only from a cryptographically secure random number generator.',
    async run(context) {
      const starts: { browser: Browser; page: Page; state: string; before: number; after: number }[] = []
      for (let count = 0; count < 8; count++) {
        const [browser, before] = [context.browser(), Date.now()]
        const { state = '', page } = await context.startLogin(browser)
        starts.push({ browser, page, state, before, after: Date.now() })
      }
      // Uses the fastest answer, because the check then has to try only a few points in time at which the client
      // could have created the state.
      const [fastest] = starts.sort((one, other) => one.after - one.before - (other.after - other.before))
      const { browser, page, state, before, after } = fastest!
      const another = context.browser()
      await context.startLogin(another)
      // Uses only cookies that have the same value in two browsers. A cookie with a different value in each browser may
      // be the random state itself, which nobody can guess.
      const [given, everybody] = [browser, another].map(({ cookies }) =>
        cookies.list(context.platform.redirectUri).map(({ value }) => value),
      )
      const shared = given!.filter(value => everybody!.includes(value))
      const { clientId, redirectUri } = context.platform
      const userAgent = page.trail[0]?.request.headers['user-agent'] ?? ''
      const visitor = ['127.0.0.1', '::1', '::ffff:127.0.0.1', userAgent, `127.0.0.1${userAgent}`]
      const words = [clientId, redirectUri, 'state', '', ...visitor, ...shared]
      const guess = findGuess(state, { before, after, words })
      expect(guess === undefined, `The state is ${guess}.`)
    },
  },
  {
    id: 'state-not-chosen',
    title: 'A request cannot choose the state of a login',
    rule: 'CL-02',
    why: 'If an attacker can choose the state, the client accepts a callback that the attacker has built.',
    fix: 'Ignore a state parameter in the query of the login path.',
    async run(context) {
      const chosen = 'chosen-by-somebody-else-0123456789'
      const { url, page } = (await startWithQuery(context, { state: chosen })) ?? {}
      expect(
        !url?.searchParams.getAll('state').includes(chosen),
        'The client took the state from the query of the login path.',
        ...(page ? [page] : []),
      )
    },
  },
  {
    id: 'start-not-chosen',
    title: 'A request cannot choose the parameters of the redirect to the portal',
    rule: 'UP-01',
    why: 'If the client copies parameters from the login path, an attacker can make a link to the login path. After a login through this link, the portal sends the code to another client or address.',
    fix: 'Take client_id, redirect_uri and cancel_url only from the configuration, and do not copy parameters from the request.',
    async run(context) {
      const evil = {
        client_id: 'evil',
        redirect_uri: 'https://evil.example/',
        cancel_url: 'https://evil.example/',
        response_type: 'token',
        grant_type: 'implicit',
        response_mode: 'fragment',
        scope: 'evil',
        prompt: 'none',
        login_hint: 'evil',
        ui_locales: 'evil',
        code_challenge: 'evil',
        code_challenge_method: 'plain',
        nonce: 'evil',
        max_age: '1',
        display: 'evil',
        acr_values: 'evil',
        id_token_hint: 'evil',
        audience: 'evil',
        resource: 'https://evil.example/',
        request_uri: 'https://evil.example/',
      }
      const { url, page } = (await startWithQuery(context, evil)) ?? {}
      for (const [name, value] of Object.entries(evil))
        expect(
          !url?.searchParams.getAll(name).includes(value),
          `The client took ${name} from the query of the login path.`,
          ...(page ? [page] : []),
        )
      // Some clients forward a parameter under another name.
      const named = Object.fromEntries(passedOn.map(name => [name, `conformance-${name}-value`]))
      const other = await startWithQuery(context, named)
      for (const [sent, value] of other?.url.searchParams ?? []) {
        const name = passedOn.find(one => value.includes(named[one]!))
        expect(!name, `The client took ${sent} from the parameter ${name} of the login path.`, other!.page)
      }
    },
  },
  ...outsiders.map(([id, what, headers]) => ({
    id: `start-${id}`,
    title: `If a request to the login path has a false ${what} header, the redirect_uri and the cancel_url stay the same`,
    rule: 'UP-01' as const,
    why: 'An attacker can choose the headers of a request. If the client uses them, the attacker chooses where the portal sends the visitor.',
    fix: `Build redirect_uri and cancel_url from the configuration, never from ${what}.`,
    async run(context: CheckContext) {
      for (const one of headers(context.settings.client)) await expectSameAddresses(context, one)
    },
  })),
  {
    id: 'start-other-headers',
    title:
      'If a request to the login path contains false headers about its address, such as X-Forwarded-Port, the redirect_uri and the cancel_url stay the same',
    rule: 'UP-01',
    why: 'Some servers and frameworks read the port, the prefix or the host of the address from these headers. An attacker can choose the headers.',
    fix: 'Build redirect_uri and cancel_url from the configuration, never from a header.',
    async run(context) {
      for (const headers of otherOutsiders) await expectSameAddresses(context, headers)
    },
  },
  {
    id: 'state-after-restart',
    title: 'After a restart, the client does not create a state that it has created before',
    rule: 'CL-02',
    why: 'A random number generator with a fixed seed creates the same states again after each restart.',
    fix: "Take the state from the system's cryptographically secure random number generator, and do not set a seed.",
    needs: ['process'],
    isAlone: true,
    async run(context) {
      const own = await statesOf(context, 5)
      // The client may already have created many states, so the check compares with all states of the run.
      const before = new Set([...own, ...context.platform.begunStates])
      await context.restartClient()
      const after = await statesOf(context, 5)
      expect(
        !after.some(state => before.has(state)),
        'After the restart, the client created a state that it had already used.',
      )
    },
  },
  {
    id: 'state-of-replica',
    title: 'Two instances never create the same state',
    rule: 'CL-02',
    why: 'With a counter or a fixed seed, two instances create the same states.',
    fix: "Take the state from the system's cryptographically secure random number generator.",
    needs: ['replica'],
    async run(context) {
      // One instance may already have begun more logins than the other, so the check also compares with all earlier
      // states of the run.
      const before = [...context.platform.begunStates]
      const own = await statesOf(context, 8)
      const others = await statesOf(context, 8, undefined, context.settings.replica)
      const earlier = new Set([...before, ...own])
      expect(!others.some(state => earlier.has(state)), 'Both instances created the same state.')
      expect(
        !own.some(state => before.includes(state)),
        'An instance created a state that was already used in this run.',
      )
    },
  },
  {
    id: 'pkce-used',
    title: 'If the portal supports S256, the redirect to the portal contains a PKCE challenge',
    rule: 'CL-22',
    why: 'With PKCE, an attacker who gets a code cannot exchange the code.',
    fix: 'Read code_challenge_methods_supported from the metadata of the portal. Create a verifier for each login, and send its S256 challenge.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      expect(url.searchParams.has('code_challenge'), 'The redirect to the portal has no code_challenge.')
    },
  },
  {
    id: 'pkce-every-way',
    title: 'If a plain login has a PKCE challenge, every login that begins in a different way also has one',
    rule: 'CL-22',
    why: 'A login can also begin from a page behind the login, with a return address, after a failed login, or while somebody is signed in. Clients often have separate code for these cases.',
    fix: 'Build the address of the portal in one function, and begin every login with this function.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      if (!url.searchParams.has('code_challenge')) throw new NotApplicable('the client does not use PKCE')
      for (const { way, start } of await startsOf(context))
        expect(
          start.url.searchParams.has('code_challenge'),
          `The login that began ${way} has no code_challenge.`,
          start.page,
        )
    },
  },
  {
    id: 'pkce-s256',
    title: 'The PKCE challenge uses the method S256',
    rule: 'pkce-s256',
    why: 'With the method plain, the address of the portal contains the verifier itself.',
    fix: 'Send code_challenge=BASE64URL(SHA256(verifier)), which is 43 characters long, and code_challenge_method=S256.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const challenge = url.searchParams.get('code_challenge')
      if (challenge === null) throw new NotApplicable('the client does not use PKCE')
      expect(
        url.searchParams.get('code_challenge_method') === 'S256',
        `code_challenge_method is ${url.searchParams.get('code_challenge_method') ?? 'missing'}.`,
      )
      expect(
        /^[\w-]{43}$/.test(challenge),
        `The challenge is ${challenge.length} characters long, but a SHA-256 challenge has 43 characters.`,
      )
      for (const { way, start } of await startsOf(context)) {
        const { searchParams } = start.url
        const method = searchParams.get('code_challenge_method') ?? 'plain'
        expect(
          !searchParams.has('code_challenge') || method === 'S256',
          `The login that began ${way} uses the method ${method}.`,
          start.page,
        )
      }
    },
  },
  {
    id: 'pkce-fresh',
    title: 'Every login has a new PKCE challenge',
    rule: 'pkce-per-login',
    why: 'If two logins have the same verifier, an attacker who learns it from one login can use the code of the other login.',
    fix: 'Create a verifier from 32 random bytes for each login, and keep the verifier together with the state.',
    async run(context) {
      const challenges: (string | null)[] = []
      const browser = context.browser()
      for (let count = 0; count < 3; count++)
        for (const one of [context.browser(), browser])
          challenges.push((await context.startLogin(one)).url.searchParams.get('code_challenge'))
      if (challenges.every(challenge => challenge === null)) throw new NotApplicable('the client does not use PKCE')
      expect(
        new Set(challenges).size === challenges.length,
        `${challenges.length} logins had only ${new Set(challenges).size} different challenges.`,
      )
      const ways = new Map<string, string>()
      for (const { way, start } of await startsOf(context)) {
        const challenge = start.url.searchParams.get('code_challenge')
        if (challenge === null) continue
        expect(
          !ways.has(challenge),
          `The logins that began ${ways.get(challenge)} and ${way} have the same challenge.`,
          start.page,
        )
        ways.set(challenge, way)
      }
    },
  },
  {
    id: 'pkce-verifier-hidden',
    title: 'The address of a login does not reveal the PKCE verifier',
    rule: 'pkce-per-login',
    why: 'An attacker who knows the verifier and the code can exchange the code.',
    fix: 'Create a random verifier that is independent of all other values. Keep it in an HttpOnly cookie, or on the server.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const challenge = url.searchParams.get('code_challenge')
      if (challenge === null) throw new NotApplicable('the client does not use PKCE')
      const isVerifier = (text: string) => createHash('sha256').update(text).digest('base64url') === challenge
      for (const [name, value] of url.searchParams)
        expect(!wordsIn(value).some(isVerifier), `The parameter ${name} is or contains the verifier.`)
      const made = derivedFrom(url.searchParams).find(({ value }) => isVerifier(value))
      expect(
        !made,
        `The verifier is ${made?.how}. An attacker who knows the address of the login can compute this value.`,
      )
    },
  },
]

/**
 * Values that a client could compute from public values and use as a verifier, instead of storing a random verifier.
 */
function derivedFrom(query: URLSearchParams): { how: string; value: string }[] {
  const [state, clientId] = [query.get('state') ?? '', query.get('client_id') ?? '']
  const sources: [what: string, text: string][] = [
    ['the state', state],
    ['the client id', clientId],
    ['the client id and the state', clientId + state],
    ['the state and the client id', state + clientId],
    ['the state twice', state + state],
  ]
  return sources.flatMap(([what, text]) => [
    { how: what, value: text },
    ...['sha256', 'sha512', 'sha1', 'md5'].flatMap(algorithm =>
      (['base64url', 'hex', 'base64'] as const).map(encoding => ({
        how: `the ${algorithm} of ${what}`,
        value: createHash(algorithm).update(text).digest(encoding),
      })),
    ),
  ])
}

async function statesOf(
  context: CheckContext,
  count: number,
  browser?: Browser,
  origin = context.settings.client,
): Promise<string[]> {
  const states: string[] = []
  for (let one = 0; one < count; one++) {
    const { state } = await context.startLogin(browser ?? context.browser(), origin + context.settings.login)
    expect(state, 'The client begins a login without a state.')
    states.push(state)
  }
  return states
}

/**
 * First begins a login without the parameters, and then a login with the parameters in the query of the login path.
 * Returns undefined if the client refuses the parameters and does not begin the second login.
 */
async function startWithQuery(
  context: CheckContext,
  query: Record<string, string>,
): Promise<{ url: URL; page: Page } | undefined> {
  await context.startLogin(context.browser())
  const { login } = context.settings
  const page = await context.visitUntilPortal(context.browser(), withQuery(login, query))
  return page.stoppedAt === undefined ? undefined : { url: new URL(page.stoppedAt), page }
}
