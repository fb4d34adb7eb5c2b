// Checks on the security headers of answers to requests with another Host. Many clients refuse or redirect such a
// request in code that runs before the code that sets the headers.
import type { HttpExchange } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, expect, headerOf, isRedirect, statusOf } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { typedAddress } from '../../steps/callback.ts'
import { isNotFramed } from '../../steps/frames.ts'
import { otherPortOf } from '../../steps/hosts.ts'
import { linkAddressesIn } from '../../steps/page-content.ts'

interface Answers {
  own: HttpExchange[]
  /** The answers to requests with another Host. */
  other: HttpExchange[]
}

/** Requests public addresses of the client with its own Host, and then with other hosts. */
async function answersOf({ settings, request }: CheckContext): Promise<Answers> {
  const { client, login, callback, page } = settings
  const all = ['/', login, withQuery(callback, 'code=a&state=b'), page, '/there-is-nothing-here-conformance']
  const paths = all.filter(path => path !== '')
  const answers: Answers = { own: [], other: [] }
  for (const path of paths) {
    answers.own.push(await request(path, { headers: typedAddress }))
    for (const host of ['evil.example', otherPortOf(client)])
      answers.other.push(await request(path, { headers: { ...typedAddress, host } }))
  }
  // If the client does not answer a request, the suite reports this for every check.
  return { own: answers.own.filter(hasStatus), other: answers.other.filter(hasStatus) }
}

const hasStatus = (answer: HttpExchange) => statusOf(answer) > 0

const isPage = (answer: HttpExchange) =>
  !isRedirect(answer) && bodyOf(answer) !== '' && /html/i.test(headerOf(answer, 'content-type') ?? '')

const hasNosniff = (answer: HttpExchange) => /nosniff/i.test(headerOf(answer, 'x-content-type-options') ?? '')

const hasPolicy = (answer: HttpExchange) => headerOf(answer, 'content-security-policy') !== undefined

/** The security headers that these checks know. Each function says whether an answer has the header. */
const headers: [what: string, has: (answer: HttpExchange) => boolean][] = [
  ['X-Content-Type-Options: nosniff', hasNosniff],
  ['Content-Security-Policy', hasPolicy],
  ['a header that forbids frames', answer => isNotFramed(name => headerOf(answer, name))],
]

/**
 * Whether the page links to a known page of the client. If it does not, it may come from a framework that refuses the
 * host before the code of the client runs, or from another site on the same server.
 */
function linksToClient({ settings }: CheckContext, answer: HttpExchange): boolean {
  const { login, page, create, logout } = settings
  const known = [login, page, create, logout?.path ?? ''].map(path => path.replace(/\?.*$/s, ''))
  return linkAddressesIn(answer).some(address => {
    const { pathname } = URL.parse(address, settings.client) ?? {}
    return pathname !== undefined && pathname !== '/' && known.includes(pathname)
  })
}

function describeRequest({ request }: HttpExchange): string {
  return `a request for ${new URL(request.url).pathname} with the Host ${request.headers.host}`
}

export const otherHost: CheckDefinition[] = [
  {
    id: 'other-host-page-headers',
    title:
      "If the client's pages have security headers, the pages also have these headers when the request has another Host",
    rule: 'PG-09',
    why: "An attacker can create a DNS name that leads to the client's server. Clients often set the headers in code that runs only for known hosts.",
    fix: 'Set the headers in one function that runs for every answer, before the client compares the host.',
    async run(context) {
      const { own, other } = await answersOf(context)
      const ownPages = own.filter(isPage)
      const usual = headers.filter(([, has]) => ownPages.length > 0 && ownPages.every(has))
      if (usual.length === 0) throw new NotApplicable('not all pages of the client have such a header')
      const pages = other.filter(answer => isPage(answer) && linksToClient(context, answer))
      if (pages.length === 0)
        throw new NotApplicable('if a request has another Host, the client does not return one of its pages')
      for (const page of pages)
        for (const [what, has] of usual)
          expect(has(page), `The answer to ${describeRequest(page)} lacks ${what}.`, page)
    },
  },
  {
    id: 'other-host-nosniff',
    title:
      'If all answers have X-Content-Type-Options: nosniff, redirects and refusals of requests with another Host also have it',
    rule: 'nosniff',
    why: 'The client often redirects or refuses such a request in code that runs before the code that sets the headers. Some frameworks refuse such a request themselves.',
    fix: 'Set the headers in the outermost function of the client, before it compares the host. If a framework refuses the request earlier, set the headers in a proxy in front of the client.',
    async run(context) {
      const { own, other } = await answersOf(context)
      if (!own.every(hasNosniff)) throw new NotApplicable('not all answers from the client have the header')
      for (const answer of other)
        expect(
          hasNosniff(answer),
          `The answer to ${describeRequest(answer)} (status ${statusOf(answer)}) has no X-Content-Type-Options: nosniff.`,
          answer,
        )
    },
  },
  {
    id: 'other-host-policy',
    title: 'If all pages have a Content-Security-Policy, a page that refuses a request with another Host also has one',
    rule: 'content-security-policy',
    why: 'Such a page often repeats the host, which the sender of the request chooses. Clients often refuse the request in code that runs before the code that sets the headers.',
    fix: 'Set the policy in the outermost function of the client, before it compares the host. If a framework refuses the request earlier, set the policy in a proxy in front of the client.',
    async run(context) {
      const { own, other } = await answersOf(context)
      const ownPages = own.filter(isPage)
      if (ownPages.length === 0 || !ownPages.every(hasPolicy))
        throw new NotApplicable('not all pages of the client have a policy')
      for (const answer of other.filter(isPage))
        expect(
          hasPolicy(answer),
          `The page for ${describeRequest(answer)} (status ${statusOf(answer)}) has no Content-Security-Policy.`,
          answer,
        )
    },
  },
]
