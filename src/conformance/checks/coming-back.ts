import type { Browser, Page } from '../browser/browser.ts'
import { type Check, checksOf, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { bodyOf, describePage, expect, expectSignedIn, headerOf, setCookiesOf, statusOf } from '../findings.ts'
import { begin, comeBack, cookieHeader, errorCallback, expectRefused, navigationHeaders } from './come-back.ts'
import { foreignLoads, isInside } from './page-content.ts'
import { returnTo } from './return-to.ts'
import { readSetCookie } from './set-cookies.ts'
import { states } from './states.ts'

type Row = Omit<Check, 'group'>

const evil = 'https://evil.example/'
/** A mark that no template would write by itself, as markup. */
const markup = '"\'><img src=x onerror=conformance()>'

const repeated: [name: string, level: 'MUST' | 'SHOULD'][] = [
  ['code', 'MUST'],
  ['client_id', 'SHOULD'],
  ['subject', 'SHOULD'],
  ['redirect_uri', 'SHOULD'],
]

/** Callbacks that no portal sends: whatever comes, the answer is a page and the client lives. */
const garbage: [id: string, title: string, path: string][] = [
  ['nothing', 'with no query at all', ''],
  ['bad-escapes', 'with broken percent-encoding', '?code=%E0%A4%A&state=%'],
  ['no-utf8', 'with bytes that are no UTF-8', '?code=%ff%fe&state=%c3%28'],
  ['null-byte', 'with a null byte', '?code=a%00b&state=c%00d'],
  ['prototype', "with names of JavaScript's own", '?__proto__[a]=1&constructor[prototype][a]=1&code=a&state=b'],
  ['nested', 'with nested names', '?code[a][b]=c&state[a]=b'],
  ['many', 'with a thousand parameters', `?${Array.from({ length: 1000 }, (_, at) => `p${at}=1`).join('&')}`],
  ['long', 'of 12 KB', `?code=${'a'.repeat(12_000)}&state=b`],
]

const escaped: [id: string, title: string, query: (state: string) => Record<string, string>][] = [
  [
    'error-description',
    'the description of an error',
    state => ({ error: 'access_denied', error_description: markup, state }),
  ],
  ['error', 'the code of an error', state => ({ error: markup, state })],
  ['subject', 'the subject', state => ({ code: 'none', subject: markup, state })],
  ['state', 'the state', () => ({ code: 'none', state: markup })],
]

export const comingBack = checksOf('coming-back', [
  {
    id: 'login-works',
    title: 'Whoever signs in at the portal is signed in at the client',
    level: 'MUST',
    why: "It is what a client is for: the page behind the login calls the API in the visitor's name (specification, 5.3 and 5.4).",
    mend: 'Follow the steps of part 5 of the specification; the evidence shows how far it came.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const page = await context.signIn(browser)
      expect(
        await context.isSignedIn(browser),
        `After the login, which ended with ${describePage(page)}, a visit of ${context.settings.page} made no call of the API that was answered.`,
      )
    },
  },
  {
    id: 'login-lands-signed-in',
    title: 'The first page after the login is already signed in',
    level: 'MUST',
    why: 'A Strict cookie is not sent after redirects that began on another site, so a redirect from the callback shows a signed-out page (RFC 6265bis, 5.2).',
    mend: 'Answer the callback with status 200 and a page that goes on by itself (meta refresh) to a page of the client.',
    needs: ['page'],
    async run(context) {
      const browser = context.browser()
      const person = await context.person()
      const landed = await context.signIn(browser)
      // Round and round: the page without its cookie leads to the portal, which knows its visitor and sends him back.
      expect(!landed.fault, `The login ended with ${landed.fault}.`, landed)
      await context.platform.settle()
      const isCalled = () =>
        context.arrived('api', 'me').some(step => step.about.userId === person.id && step.listener === 'api')
      const isThere =
        landed.url.startsWith(context.settings.client) &&
        new URL(landed.url).pathname === new URL(context.url(context.settings.page)).pathname
      expect(
        !landed.url.startsWith(context.platform.portalUrl),
        'After the login the browser stands at the portal again.',
        landed,
      )
      if (!isCalled() && !isThere) await browser.visit(context.url(context.settings.page), { from: landed })
      await context.platform.settle()
      expect(isCalled(), `The page that one lands on, ${landed.url}, knows nothing of the login.`, landed)
    },
  },
  {
    id: 'callback-code-not-in-address',
    title: 'Code and state do not stay in the address bar',
    level: 'MUST',
    why: 'What stands there is kept in the history, copied and sent on (RFC 9700, 4.3.1).',
    mend: 'Lead on from the callback by a redirect, or by a page with a meta refresh, which replaces the entry.',
    async run(context) {
      const landed = await context.signIn(context.browser())
      const left = ['code', 'state'].filter(name => new URL(landed.url).searchParams.has(name))
      if (left.length > 0 && /<script/i.test(landed.body))
        throw new Undecided('The callback answers with a page that has a script, which may lead on.')
      expect(
        left.length === 0,
        `After the login the address is ${new URL(landed.url).pathname} with ${left.join(' and ')}.`,
      )
    },
  },
  {
    id: 'callback-no-referrer',
    title: "The callback's address goes to nobody as a referrer",
    level: 'MUST',
    why: 'The next request would carry code and state in its Referer (RFC 9700, 4.2.4).',
    mend: 'Send Referrer-Policy: no-referrer with the answer to the callback.',
    async run(context) {
      const browser = context.browser()
      const landed = await context.signIn(browser)
      const leaks = landed.trail.filter(({ request }) => {
        const referer = request.headers.referer ?? ''
        return referer.startsWith(context.platform.redirectUri) && /[?&](code|state)=/.test(referer)
      })
      expect(leaks.length === 0, 'A request after the callback carried its address.', ...leaks)
    },
  },
  {
    id: 'callback-no-store',
    title: 'The answer to the callback says Cache-Control: no-store',
    level: 'SHOULD',
    why: 'It sets a session; whatever keeps it gives it to others (RFC 6749, 5.1; RFC 9111, 5.2.2.5).',
    mend: 'Send Cache-Control: no-store with it.',
    async run(context) {
      const answer = await callbackOf(context)
      expect(
        /no-store/i.test(headerOf(answer, 'cache-control') ?? ''),
        `Cache-Control is ${headerOf(answer, 'cache-control') ?? 'not there'}.`,
        answer,
      )
    },
  },
  {
    id: 'callback-not-cached',
    title: 'The answer to the callback may not be kept by others',
    level: 'MUST',
    why: 'A proxy would give the session of one visitor to the next (RFC 9111, 5.2.2).',
    mend: 'Send Cache-Control: no-store with it.',
    async run(context) {
      const answer = await callbackOf(context)
      const control = headerOf(answer, 'cache-control') ?? ''
      expect(
        /no-store|private/i.test(control) || !/\b(public|max-age\s*=\s*[1-9]|s-maxage)/i.test(control),
        `Cache-Control is ${control}.`,
        answer,
      )
    },
  },
  {
    id: 'callback-nothing-foreign',
    title: 'The page of the callback loads nothing from elsewhere and repeats neither code nor state',
    level: 'MUST',
    why: 'Whatever it loads learns the code by script or referrer (RFC 6749, 3.1.2.5).',
    mend: 'Answer with a page of its own that holds nothing but the way on.',
    async run(context) {
      const answer = await callbackOf(context)
      const { searchParams } = new URL(answer.request.url)
      const body = bodyOf(answer)
      const foreign = foreignLoads(body, context.settings.client)
      expect(foreign.length === 0, `The page loads ${foreign[0]}.`, answer)
      for (const name of ['code', 'state'])
        expect(!body.includes(searchParams.get(name)!), `The page holds the ${name}.`, answer)
    },
  },
  ...states,
  {
    id: 'callback-resent',
    title: 'A callback that the browser delivers four times at once is answered four times',
    level: 'MUST',
    why: 'Browsers send a request again whose connection dropped; that must end on a page, never in a fault (RFC 9110, 9.2.2).',
    mend: 'Share one exchange among deliveries of one state, and answer what cannot be shared with a page that leads on.',
    async run(context) {
      const { browser, callback } = await begin(context)
      const pages = await deliverOften(context, browser, callback)
      for (const page of pages) {
        expect(page.status !== 0, `One of them got no answer: ${page.fault}.`, page)
        expect(
          page.status !== 500 && !isInside(page.body),
          `One of them was answered with ${describePage(page)}.`,
          page,
        )
      }
    },
  },
  {
    id: 'callback-resent-signed-in',
    title: 'A callback that the browser delivers four times at once ends signed in',
    level: 'SHOULD',
    why: 'The visitor has done everything right, and sees the last answer alone (RFC 9110, 9.2.2).',
    mend: 'Let no late delivery take away the session that the first one has made.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await begin(context)
      await deliverOften(context, browser, callback)
      await expectSignedIn(context, browser, 'Afterwards nobody is signed in.')
    },
  },
  ...repeated.map(
    ([name, level]): Row => ({
      id: `callback-${name.replace('_', '-')}-twice`,
      title: `A callback in which ${name} stands twice is refused`,
      level,
      why: 'Parameters must not be there more than once, and whoever reads the first and whoever reads the last read differently (RFC 6749, 3.1).',
      mend: 'Refuse a callback with a repeated parameter before anything is sent.',
      async run(context) {
        const { browser, callback } = await begin(context)
        callback.searchParams.append(name, 'another-value')
        await expectRefused(context, browser, callback)
      },
    }),
  ),
  {
    id: 'callback-client-id-other',
    title: 'A callback for another client is refused',
    level: 'MUST',
    why: 'An answer that was meant for another client is not for this one (specification, 4.3: client_id "can be used to validate state"; RFC 9700, 4.4).',
    mend: 'Compare client_id with the configured one before the exchange.',
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.set('client_id', '00000000-0000-4000-8000-000000000000')
      await expectRefused(context, browser, callback)
    },
  },
  ...(['client_id', 'subject'] as const).map(
    (name): Row => ({
      id: `callback-${name.replace('_', '-')}-missing`,
      title: `A callback without ${name} is refused`,
      level: 'SHOULD',
      why: `${name} is required in every callback; one without it is not of this portal (specification, 4.3).`,
      mend: `Refuse a callback without ${name} before the exchange.`,
      async run(context) {
        const { browser, callback } = await begin(context)
        callback.searchParams.delete(name)
        await expectRefused(context, browser, callback)
      },
    }),
  ),
  {
    id: 'callback-code-missing',
    title: 'A callback without a code exchanges nothing',
    level: 'MUST',
    why: 'There is nothing to exchange (specification, 4.3: code is required).',
    mend: 'Refuse a callback without a code.',
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.delete('code')
      const page = await expectRefused(context, browser, callback)
      expect(page.status !== 0 && page.status < 500, `It was answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'callback-subject-other',
    title: "Who is signed in is not taken from the callback's subject",
    level: 'MUST',
    why: 'Anybody can change the address bar; who it is stands in the token (RFC 9700, 4.5).',
    mend: 'Never use subject as identity.',
    needs: ['page'],
    async run(context) {
      const person = await context.person()
      const other = await context.otherPerson()
      const { browser, callback } = await begin(context)
      callback.searchParams.set('subject', other.id)
      await comeBack(context, browser, callback)
      if (!(await context.isSignedIn(browser, { person }))) return
      const page = await browser.visit(context.url(context.settings.page))
      // The form that creates an application may offer the visitor's groups.
      if (context.settings.create) await browser.visit(context.url(context.settings.create))
      await context.platform.settle()
      expect(!page.body.includes(other.id) && !page.body.includes(other.email), 'The page shows somebody else.', page)
      const calls = context.arrived('api').filter(({ request }) => request.url.includes(other.id))
      expect(calls.length === 0, 'The client asked the API about somebody else.', ...calls)
    },
  },
  {
    id: 'callback-redirect-uri-other',
    title: 'The redirect_uri of a callback is never used',
    level: 'MUST',
    why: 'The exchange carries the address of the start, and nobody is led to one from a query (specification, 4.2; RFC 9700, 4.11.1).',
    mend: 'Take the redirect URI from the configuration alone.',
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.set('redirect_uri', evil)
      const page = await comeBack(context, browser, callback, ({ hostname }) => hostname === 'evil.example')
      expect(page.stoppedAt === undefined, `The browser was led to ${page.stoppedAt}.`, page)
      expect(!page.links.some(({ url }) => url.startsWith(evil)), 'The page links there.', page)
      for (const step of await context.exchanges())
        expect(!JSON.stringify(step.request.body).includes('evil.example'), 'The exchange carried it.', step)
    },
  },
  {
    id: 'callback-iss-other',
    title: 'A callback of another issuer is refused',
    level: 'SHOULD',
    why: 'iss says who answers; the portal sends its own and lists that it does (RFC 9207, 2.4).',
    mend: "Where iss is there, compare it with the portal's address before the exchange.",
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.set('iss', 'https://evil.example')
      await expectRefused(context, browser, callback)
    },
  },
  {
    id: 'callback-unknown-parameter',
    title: 'A callback with a parameter that nobody knows works',
    level: 'MUST',
    why: 'Unrecognized response parameters must be ignored (RFC 6749, 4.1.2).',
    mend: 'Look only at what is known.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.set('session_state', 'something')
      await comeBack(context, browser, callback)
      await expectSignedIn(context, browser, 'Nobody is signed in after it.')
    },
  },
  {
    id: 'callback-error',
    title: 'A callback with an error exchanges nothing and is answered with a page',
    level: 'MUST',
    why: 'The portal says so that there is no code (RFC 6749, 4.1.2.1).',
    mend: 'Handle error before code, and show a page that offers to sign in again.',
    async run(context) {
      const { browser, start, callback } = await begin(context)
      const page = await expectRefused(
        context,
        browser,
        errorCallback(callback, { error: 'access_denied', state: start.state ?? '' }),
      )
      expect(page.status !== 0 && page.status < 500, `It was answered with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'callback-error-and-code',
    title: 'A callback with an error and a code is an error',
    level: 'MUST',
    why: 'A portal that sends both has failed; the code proves nothing (RFC 6749, 4.1.2.1).',
    mend: 'Look at error first.',
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.set('error', 'server_error')
      await expectRefused(context, browser, callback)
    },
  },
  ...escaped.map(
    ([id, title, query]): Row => ({
      id: `callback-escapes-${id}`,
      title: `Markup in ${title} of a callback is text on the page`,
      level: 'MUST',
      why: 'Anybody can make a visitor open such an address (OWASP ASVS 1.2.1).',
      mend: 'Escape whatever of the query stands on a page, or show none of it.',
      async run(context) {
        const { browser, start, callback } = await begin(context)
        const page = await comeBack(
          context,
          browser,
          errorCallback(callback, { client_id: context.platform.clientId, ...query(start.state ?? '') }),
        )
        const isRaw = page.body.includes('<img src=x onerror=conformance')
        expect(
          !isRaw || !/html/i.test(page.headers.get('content-type') ?? 'html'),
          'The page holds the markup as it was sent.',
          page,
        )
      },
    }),
  ),
  {
    id: 'callback-code-literal',
    title: 'A code cannot add fields to the exchange',
    level: 'MUST',
    why: 'What is pasted into a form unencoded becomes fields of its own (RFC 6749, appendix B).',
    mend: 'Build the form with URLSearchParams or the like.',
    async run(context) {
      // The second for those who take no code with a space in it.
      for (const code of ['a&client_id=evil&redirect_uri=https://evil.example/&x=%26 +y', 'a&client_id=evil&x=%26+y']) {
        const known = context.arrived('exchange').length
        const { browser, callback } = await begin(context)
        callback.searchParams.set('code', code)
        await comeBack(context, browser, callback)
        for (const step of (await context.exchanges()).slice(known)) {
          const body = step.request.body as Record<string, unknown>
          expect(
            body?.code === code && body.client_id === context.platform.clientId,
            'The exchange carried other fields than its own.',
            step,
          )
        }
      }
    },
  },
  {
    id: 'callback-code-long',
    title: 'A code of 8 KB is not sent on',
    level: 'SHOULD',
    why: 'Whoever calls the callback would make the client send what they like (OWASP ASVS 2.2.1).',
    mend: 'Refuse a code of more than some 2,000 characters.',
    async run(context) {
      const { browser, callback } = await begin(context)
      callback.searchParams.set('code', 'a'.repeat(8000))
      const page = await expectRefused(context, browser, callback)
      expect(page.status !== 0 && page.status < 500, `It was answered with ${describePage(page)}.`, page)
    },
  },
  ...garbage.map(
    ([id, title, query]): Row => ({
      id: `callback-${id}`,
      title: `A callback ${title} is answered and refused`,
      level: 'MUST',
      why: 'Anybody can send it; an exception that nobody catches is an outage (OWASP ASVS 16.5.3).',
      mend: 'Check the query before it is used, and answer with status 400.',
      async run(context) {
        const exchange = await context.request(context.platform.redirectUri + query, { headers: navigationHeaders })
        const status = statusOf(exchange)
        expect(status > 0, 'There was no answer.', exchange)
        expect(status < 500, `It was answered with status ${status}.`, exchange)
        expect(
          setCookiesOf(exchange)
            .map(readSetCookie)
            .every(({ isDeletion, value }) => isDeletion || !/^(undefined|null|NaN)$/.test(value)),
          'It set a cookie.',
          exchange,
        )
      },
    }),
  ),
  {
    id: 'callback-post',
    title: 'The callback takes no form',
    level: 'SHOULD',
    why: "The portal redirects with GET; a form of another site is somebody else's (specification, 4.3: GET /exchangeToken).",
    mend: 'Route GET alone, and answer others with 405.',
    async run(context) {
      const { browser, callback } = await begin(context)
      const page = browser.show(
        `${context.platform.portalUrl}/`,
        `<form method="post" action="${callback.origin}${callback.pathname}">${[...callback.searchParams].map(([name, value]) => `<input name="${name}" value="${value}">`).join('')}<button>Go</button></form>`,
      )
      await browser.submit(page, page.forms[0]!)
      expect((await context.exchanges()).length === 0, 'The code of a form was exchanged.')
    },
  },
  {
    id: 'callback-head',
    title: 'HEAD on the callback exchanges nothing',
    level: 'SHOULD',
    why: 'Programs that look at links would use up the code (RFC 9110, 9.3.2: HEAD is safe).',
    mend: 'Answer HEAD with 405.',
    async run(context) {
      const { browser, callback } = await begin(context)
      const cookie = cookieHeader(context, browser)
      await context.request(callback.href, {
        method: 'HEAD',
        headers: { ...navigationHeaders, ...(cookie && { cookie }) },
      })
      expect((await context.exchanges()).length === 0, 'The code was exchanged.')
    },
  },
  {
    id: 'callback-cross-site-frame',
    title: 'A callback in a frame of another site is refused',
    level: 'SHOULD',
    why: 'A hidden frame would finish a login that nobody sees (RFC 9700, 4.16).',
    mend: 'Refuse what is not a navigation of a whole page, by Sec-Fetch-Dest.',
    async run(context) {
      const { browser, callback } = await begin(context)
      const cookie = cookieHeader(context, browser)
      await context.request(callback.href, {
        headers: {
          ...navigationHeaders,
          'sec-fetch-dest': 'iframe',
          'sec-fetch-site': 'cross-site',
          ...(cookie && { cookie }),
        },
      })
      expect((await context.exchanges()).length === 0, 'The code was exchanged.')
    },
  },
  {
    id: 'declined',
    title: 'Whoever declines at the portal comes to a page of the client, and is not signed in',
    level: 'MUST',
    why: 'cancel_url is where they are sent; a page that is not there looks broken (specification, 4.2).',
    mend: 'Serve a page at cancel_url that says that nobody was signed in and offers the login.',
    async run(context) {
      const { url } = await context.startLogin(context.browser())
      const cancelUrl = url.searchParams.get('cancel_url') ?? ''
      if (!cancelUrl.startsWith(context.settings.client)) throw new Undecided('cancel_url is not at the client.')
      const { browser, start } = await begin(context)
      const there = new URL(start.url.searchParams.get('cancel_url')!)
      there.searchParams.set('error', 'access_denied')
      if (start.state !== undefined) there.searchParams.set('state', start.state)
      for (const address of [there.href, cancelUrl]) {
        const page = await comeBack(context, browser, address)
        expect(
          page.status > 0 && page.status !== 404 && page.status < 500,
          `It is answered with ${describePage(page)}.`,
          page,
        )
      }
      expect((await context.exchanges()).length === 0, 'A code was exchanged.')
    },
  },
  {
    id: 'session-new',
    title: 'A login makes a session of its own, whatever cookies were there before',
    level: 'MUST',
    why: "A session id that an attacker has planted would open the visitor's session (OWASP ASVS 7.2.4: session fixation).",
    mend: 'Make a new session at every login, and never take over the id that came along.',
    needs: ['page'],
    async run(context) {
      const { browser, callback } = await begin(context)
      const planted = browser.copy()
      await comeBack(context, browser, callback)
      if (!(await context.isSignedIn(browser))) throw new Undecided('A plain login does not work.')
      expect(!(await context.isSignedIn(planted)), 'The cookies of before the login open the session.')
    },
  },
  {
    id: 'session-replaced',
    title: 'A login as somebody else replaces who was signed in',
    level: 'MUST',
    why: "Otherwise one works in another's name without seeing it (OWASP ASVS 7.2.4).",
    mend: 'Replace the whole session, tokens and what was remembered of the visitor.',
    needs: ['page'],
    async run(context) {
      const { browser, person } = await context.signedIn()
      const other = await context.otherPerson()
      const start = await context.startLogin(browser)
      await comeBack(context, browser, await context.authorize(start, other))
      expect(await context.isSignedIn(browser, { person: other }), 'The second one is not signed in.')
      expect(!(await context.isSignedIn(browser, { person })), 'The first one still is.')
    },
  },
  ...returnTo,
])

function deliverOften(context: CheckContext, browser: Browser, callback: URL): Promise<Page[]> {
  return Promise.all([1, 2, 3, 4].map(() => comeBack(context, browser.newTab(), callback)))
}

/** The callback's own answer in a login that works. */
async function callbackOf(context: CheckContext) {
  const { browser, callback } = await begin(context)
  const page = await comeBack(context, browser, callback)
  return page.trail[0]!
}
