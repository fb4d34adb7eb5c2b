// Checks how the client finds its own address. The address must come from the configuration, never from a header that a
// proxy or an attacker adds.
import type { HttpExchange } from '../../browser/browser.ts'
import type { CheckDefinition } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, expect, headerOf } from '../../findings.ts'
import { isAtOrigin, withQuery } from '../../steps/addresses.ts'
import { ownForm, sendForm } from '../../steps/application-pages.ts'
import { beginLogin, cookieHeader, navigationHeaders, typedAddress } from '../../steps/callback.ts'
import { leadsToHost, otherPortOf } from '../../steps/hosts.ts'
import { linkAddressesIn } from '../../steps/page-content.ts'
import { decodeSafely } from '../../steps/set-cookies.ts'

const evil = 'evil.example'

/** Headers in which a proxy passes on the host that the browser asked for. */
const forwarded = {
  'x-forwarded-host': evil,
  'x-forwarded-server': evil,
  'x-original-host': evil,
  'x-host': evil,
  'x-http-host-override': evil,
  'x-forwarded-prefix': `//${evil}`,
  'x-script-name': `//${evil}`,
  'x-original-url': `//${evil}/`,
  'x-rewrite-url': `//${evil}/`,
  forwarded: `for=192.0.2.1;host=${evil};proto=https`,
}

/**
 * Requests every known page twice with these headers: once without a session, and once with a session. Also finishes a
 * login and signs out with these headers. Returns the answers.
 */
async function visitAll(context: CheckContext, headers: Record<string, string>): Promise<HttpExchange[]> {
  const { login, callback, page, create, logout } = context.settings
  const paths = ['/', login, withQuery(callback, 'code=a&state=b'), page, create, '/there-is-nothing-here-conformance']
  const known = [...new Set(paths.filter(path => path !== ''))]
  const answers: HttpExchange[] = []
  for (const path of known) answers.push(await context.request(path, { headers: { ...typedAddress, ...headers } }))
  const begun = await beginLogin(context)
  const cookie = cookieHeader(context, begun.browser, begun.callback.href)
  answers.push(await context.request(begun.callback.href, { headers: { ...navigationHeaders, ...headers, cookie } }))
  if (!page) return answers
  const { browser } = await context.signedIn()
  for (const path of known.filter(path => path !== login)) {
    const cookie = cookieHeader(context, browser, path)
    answers.push(await context.request(path, { headers: { ...typedAddress, ...headers, cookie } }))
  }
  if (logout?.method === 'POST') {
    const form = { action: context.url(logout.path), fields: [] }
    answers.push((await sendForm(context, browser, form, { ...ownForm(context), ...headers })).answer)
  }
  return answers
}

/**
 * If a redirect, link, form or loaded file in the answer has an address with the foreign host, returns this address.
 */
function foreignAddress(answer: HttpExchange): string | undefined {
  const addresses = [headerOf(answer, 'location') ?? '', headerOf(answer, 'refresh') ?? '', ...linkAddressesIn(answer)]
  const found = addresses.find(address => decodeSafely(address).includes(evil))
  if (found !== undefined) return found
  return /http-equiv=["']?refresh["'][^>]*evil\.example/i.test(bodyOf(answer)) ? evil : undefined
}

export const ownAddress: CheckDefinition[] = [
  {
    id: 'forwarded-host-not-believed',
    title: 'No redirect or link contains the host from X-Forwarded-Host, Forwarded or a similar header',
    rule: 'PG-02',
    why: "Anyone can send these headers. A cache can then send the wrong answer to all visitors, so that visitors or codes go to the attacker's site.",
    fix: "Take the client's own address from the configuration. Configure the framework not to trust headers from proxies.",
    async run(context) {
      for (const answer of await visitAll(context, forwarded)) {
        const found = foreignAddress(answer)
        expect(found === undefined, `The answer contains the address ${found}.`, answer)
      }
    },
  },
  {
    id: 'forwarded-proto-not-believed',
    title: 'X-Forwarded-Proto, X-Forwarded-Port and X-Forwarded-Prefix change neither redirect_uri nor cancel_url',
    rule: 'PG-02',
    why: 'The portal compares redirect_uri byte by byte. If a header changes redirect_uri, every login through a proxy that sends this header fails.',
    fix: "Take the client's own address from the configuration. Configure the framework not to trust headers from proxies.",
    async run(context) {
      const start = await context.startLogin(context.browser())
      const proto = context.settings.client.startsWith('https:') ? 'http' : 'https'
      const tries: Record<string, string>[] = [
        { 'x-forwarded-proto': proto },
        { 'x-forwarded-scheme': proto, 'x-forwarded-ssl': 'on', 'front-end-https': 'on', 'x-url-scheme': proto },
        { 'x-forwarded-port': '8443', 'x-forwarded-proto': proto },
        { 'x-forwarded-prefix': '/conformance-prefix', 'x-script-name': '/conformance-prefix' },
        { forwarded: `for=192.0.2.1;proto=${proto}` },
      ]
      for (const headers of tries) {
        const answer = await context.request(context.settings.login, { headers: { ...typedAddress, ...headers } })
        const location = headerOf(answer, 'location') ?? ''
        // If the client refuses the request, no login begins, so there is no redirect_uri that could be wrong.
        if (!isAtOrigin(location, context.platform.portalUrl)) continue
        for (const name of ['redirect_uri', 'cancel_url']) {
          const [usual, now] = [start.url.searchParams.get(name), new URL(location).searchParams.get(name)]
          expect(
            now === usual,
            `With ${Object.keys(headers).join(', ')}, ${name} is ${now} instead of ${usual}.`,
            answer,
          )
        }
      }
    },
  },
  {
    id: 'foreign-host-not-linked',
    title:
      'No page, not even an error page or a page for signed-in visitors, has a link to the host from the Host header of the request',
    rule: 'PG-02',
    why: 'An attacker can send a request with a false Host header, and a cache can then send the answer to all visitors.',
    fix: 'Build addresses from the configuration, or use relative addresses.',
    async run(context) {
      // A framework that refuses unknown hosts may accept every port of a known host.
      for (const host of [evil, otherPortOf(context.settings.client)])
        for (const answer of await visitAll(context, { host })) {
          const found = linkAddressesIn(answer).find(address => leadsToHost(address, host))
          expect(found === undefined, `The page contains the address ${found}.`, answer)
        }
    },
  },
]
