// Checks with requests that no browser sends, but that a program can send. The client must answer these requests and
// keep running. It must not use an address that such a request contains, for example in its Host header.
import type { HttpExchange } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, fail, headerOf, statusOf } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { typedAddress } from '../../steps/callback.ts'
import { expectOwnStatus, type Odd, requestText, sendOdd } from '../../steps/raw.ts'
import { bodies } from './bodies.ts'
import { forgeries } from './forgeries.ts'
import { formTypes } from './form-types.ts'
import { libraryMessages } from './library-messages.ts'
import { limits } from './limits.ts'
import { servedFiles } from './served-files.ts'
import { signedIn } from './signed-in.ts'

/** Groups of invalid requests. `what` describes the requests in the titles of the checks. */
const families: {
  id: string
  what: string
  fix: string
  requests: (context: CheckContext) => Odd[] | Promise<Odd[]>
}[] = [
  {
    id: 'targets',
    what: 'requests for addresses such as //, /..;/ and /\\',
    fix: 'Catch the errors of the function that parses the path, and answer with status 400 or 404.',
    requests: context =>
      [
        '//',
        '///',
        '//evil.example/',
        '/%2f%2fevil.example/%2e%2e',
        '/\\',
        '/..;/',
        '/../../../../etc/passwd',
        '/%2e%2e/%2e%2e/',
        '/[',
        '/a:b@c:99999',
        '/?',
        '/??&&==',
        '/#x',
        `/${'a/'.repeat(500)}`,
      ].map(target => get(context, target)),
  },
  {
    id: 'escapes',
    what: 'requests with broken percent-encoding in the path or in the query',
    fix: 'Catch the errors of the function that decodes addresses, and answer with status 400.',
    requests: context =>
      pathsOf(context).flatMap(path => [
        ...['%', '/%', '/%zz', '/%E0%A4%A', '/%ff', '/%00'].map(end => get(context, path.replace(/\/$/, '') + end)),
        ...['?%', '?%=%', '?x=%E0%A4%A', '?x=%ff&%zz=1', '?x=%00', '?x=%u0041'].map(query =>
          get(context, path + query),
        ),
      ]),
  },
  {
    id: 'parameters',
    what: 'requests with repeated parameters, or with lists or objects as parameters',
    fix: 'Read each parameter as a list of values. If you expect one value, refuse a list with several values.',
    requests: context =>
      pathsOf(context).flatMap(path =>
        parameterNames(context).flatMap(name => [
          get(context, withQuery(path, `${name}=a&${name}=b`)),
          get(context, withQuery(path, `${name}[]=a&${name}[b]=c`)),
        ]),
      ),
  },
  {
    id: 'hosts',
    what: 'requests whose Host header is missing, empty or not a host name',
    fix: "Do not build an address from the Host header. Take the client's own address from the configuration.",
    requests: context => [
      ...['', '[', ':', '%', 'a b', 'http://', `${'a'.repeat(300)}.example`, 'evil.example:99999', '"><x'].map(
        host => ({
          ...get(context, context.settings.login, { host }),
          what: `a request with the Host ${JSON.stringify(shorten(host))}`,
          isNoHttp: true,
        }),
      ),
      {
        what: 'an HTTP/1.0 request without Host',
        head: requestText(context, 'GET', context.settings.login, { headers: { host: undefined }, version: '1.0' }),
        isNoHttp: true,
      },
    ],
  },
  {
    id: 'methods',
    what: 'requests with methods that no page supports',
    fix: 'Answer with status 405. For an unknown method, status 501 is also correct.',
    requests: context =>
      pathsOf(context).flatMap(path =>
        ['OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'BREW'].map(method => ({
          what: `${method} ${path}`,
          head: requestText(context, method, path, { headers: { 'content-length': '0' } }),
          // Some servers know only the methods of RFC 9110.
          isNoHttp: ['PROPFIND', 'BREW', 'TRACE'].includes(method),
        })),
      ),
  },
  {
    id: 'long-headers',
    what: 'requests with very long headers or addresses',
    fix: 'Let the server refuse such requests with status 431 or 414.',
    requests: context =>
      [12_000, 40_000, 200_000].flatMap(size => [
        {
          what: `a header of ${size} bytes`,
          head: requestText(context, 'GET', context.settings.login, { headers: { 'x-long': 'a'.repeat(size) } }),
          isNoHttp: true,
        },
        {
          what: `cookies of ${size} bytes`,
          head: requestText(context, 'GET', context.settings.login, {
            headers: { cookie: Array.from({ length: size / 100 }, (_, at) => `c${at}=${'a'.repeat(90)}`).join('; ') },
          }),
          isNoHttp: true,
        },
        { ...get(context, withQuery(context.settings.login, `x=${'a'.repeat(size)}`)), isNoHttp: true },
      ]),
  },
  {
    id: 'header-values',
    what: 'requests with meaningless header values',
    fix: 'Catch the errors of functions that parse headers, and ignore headers that you cannot read.',
    requests: context =>
      pathsOf(context).flatMap(path =>
        [
          { 'accept-language': ';;q=,*;q=9,\u00e9-\u00ff' },
          { accept: ';;;' },
          { 'content-type': ';charset', 'content-length': '0' },
          { range: 'bytes=9-1,-' },
          { 'if-modified-since': 'never', 'if-none-match': '"' },
          { authorization: 'Basic %%%' },
          { authorization: 'Bearer' },
          {
            'x-forwarded-for': 'a, , [::',
            'x-forwarded-proto': 'javascript',
            'x-forwarded-port': 'x',
            forwarded: 'for="',
          },
          { referer: 'http://[' },
          { origin: 'http://[' },
          { 'sec-fetch-site': '\u00ff', 'sec-fetch-dest': '' },
          { traceparent: 'x', 'x-request-id': '<script>\t{}' },
        ].map(headers => ({
          ...get(context, path, headers),
          what: `a request for ${path} with ${Object.entries(headers)
            .map(([name, value]) => `${name}: ${value}`)
            .join(', ')}`,
        })),
      ),
  },
]

function get(context: CheckContext, target: string, headers: Record<string, string | undefined> = {}): Odd {
  const head = requestText(context, 'GET', target, { headers })
  // A valid target is a path or a whole address. For any other target, a server may also close the connection without
  // an answer.
  return { what: `GET ${shorten(target)}`, head, isNoHttp: !/^(\/|https?:)/.test(target) }
}

/**
 * Requests that most servers refuse before the code of the client runs. A request without Host is not in this list,
 * because Node itself answers such a request, and a program cannot add headers to this answer.
 */
function refusedByParsers(context: CheckContext): Odd[] {
  const { login, logout, create } = context.settings
  const post = logout?.path ?? (create || login)
  return [
    { what: 'a line that is not HTTP', head: 'nonsense\r\n\r\n' },
    {
      what: 'the Content-Length abc',
      head: `${requestText(context, 'POST', post, { headers: { 'content-length': 'abc' } })}a=b`,
    },
    {
      what: 'a header of 200,000 bytes',
      head: requestText(context, 'GET', login, { headers: { 'x-long': 'a'.repeat(200_000) } }),
    },
  ].map(odd => ({ ...odd, isNoHttp: true }))
}

const isNosniff = (answer: HttpExchange) => /nosniff/i.test(headerOf(answer, 'x-content-type-options') ?? '')

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}… (${text.length} characters)` : text
}

/** Every path of the client that the suite knows. */
function pathsOf({ settings }: CheckContext): string[] {
  const { login, callback, page, create, logout } = settings
  return [...new Set(['/', login, callback, page, create, logout?.path ?? ''])].filter(path => path !== '')
}

function parameterNames({ settings }: CheckContext): string[] {
  return [settings.returnTo, 'state', 'error', 'error_description', 'iss', 'page'].filter(Boolean)
}

export const rawRequests: CheckDefinition[] = [
  ...families.flatMap(({ id, what, fix, requests }): CheckDefinition[] => [
    {
      id: `raw-${id}`,
      title: `The client answers ${what}, and keeps running`,
      rule: 'stays-up',
      why: 'Anyone can send such requests. An exception that the client does not catch can crash the client for all visitors.',
      fix,
      run: async context => void (await sendOdd(context, await requests(context))),
    },
    {
      id: `raw-${id}-status`,
      title: `The client never uses status 500, 502, 503 or 504 to answer ${what}`,
      rule: 'bad-request-status',
      why: 'Status 500 means a mistake in the client. Each such request alarms the operators of the client, and shows an attacker where the client is weak.',
      fix,
      run: async context => expectOwnStatus(context, await requests(context)),
    },
  ]),
  {
    id: 'raw-absolute-target',
    title: 'If a request line contains a whole address, the address does not change the redirect_uri of a login',
    rule: 'PG-02',
    why: 'Proxies and attackers can write a whole address into the request line. A library may use the host in this address as the host of the client.',
    fix: "Take the client's own address from the configuration.",
    async run(context) {
      const { login, client } = context.settings
      const targets = [`http://evil.example${login}`, `https://evil.example:444${login}`, `${client}${login}`]
      for (const { exchange } of await sendOdd(
        context,
        targets.map(target => ({ ...get(context, target), isNoHttp: true })),
      )) {
        const location = headerOf(exchange, 'location') ?? ''
        expect(!location.includes('evil.example'), `The redirect leads to ${location.replace(/\?.*$/s, '')}.`, exchange)
      }
    },
  },
  {
    id: 'raw-no-redirect-away',
    title: 'No address of the client redirects to another site',
    rule: 'CL-25',
    why: "If a link to the client leads to an attacker's page, visitors trust this page. A redirect that repeats the path of the request is enough for this attack.",
    fix: 'If a path begins with several slashes or a backslash, answer with 404. Or replace these characters with one slash before you use the path.',
    async run(context) {
      const { login, page } = context.settings
      const targets = [
        '//evil.example',
        '//evil.example/',
        '//evil.example/%2e%2e',
        '//evil.example/..',
        '///evil.example/',
        '/\\evil.example/',
        '/%5cevil.example/',
        '/%2fevil.example/',
        '/%09/evil.example/',
        `//evil.example${login}`,
        `//evil.example${page || '/'}/`,
        '/.//evil.example/',
        '//evil.example/;/..',
      ]
      for (const { exchange, odd } of await sendOdd(
        context,
        targets.map(target => get(context, target)),
      )) {
        const location = headerOf(exchange, 'location')
        if (location === undefined || !URL.canParse(location, context.url('/'))) continue
        const { hostname } = new URL(location, context.url('/'))
        expect(hostname !== 'evil.example', `The answer to ${odd.what} redirects to ${location}.`, exchange)
      }
    },
  },
  {
    id: 'raw-nosniff',
    title:
      'If normal answers have X-Content-Type-Options: nosniff and the HTTP parser refuses a request, the answer to this request also has the header',
    rule: 'parser-nosniff',
    why: 'The HTTP server makes these answers itself, and does not run the code of the client that sets the headers. With many servers, a client cannot add headers to these answers.',
    fix: 'Set the headers in the code that answers broken requests, for example in handlers for clientError and checkExpectation, or in a proxy in front of the client.',
    async run(context) {
      const plain = await context.request(context.settings.login, { headers: typedAddress })
      if (!isNosniff(plain)) throw new NotApplicable('even normal answers do not have the header')
      // A server may ignore an unknown expectation. But some servers refuse such a request before the code of the
      // client runs.
      const expectation = get(context, context.settings.login, { expect: 'conformance' })
      const answers = await sendOdd(context, [
        ...refusedByParsers(context),
        { ...expectation, what: 'a request with the header Expect: conformance' },
      ])
      const refused = answers.filter(({ exchange }) => statusOf(exchange) >= 400)
      if (refused.length === 0) throw new NotApplicable('the client does not refuse any of these requests')
      for (const { exchange, odd } of refused)
        expect(isNosniff(exchange), `The answer to ${odd.what} has no X-Content-Type-Options: nosniff.`, exchange)
    },
  },
  {
    id: 'raw-parser-headers',
    title:
      'If the HTTP parser refuses three requests, and two of the answers have a security header, the third answer also has this header',
    rule: 'PG-09',
    why: 'If the parser refuses a request, separate code sends the answer and must set the headers. Often this code sets them only for some errors.',
    fix: 'Set the same headers for every request that the parser refuses, whatever the error is.',
    async run(context) {
      // Any other status probably comes from a page of the client, and not from the parser.
      const refused = (await sendOdd(context, refusedByParsers(context))).filter(({ exchange }) =>
        [400, 413, 414, 431].includes(statusOf(exchange)),
      )
      for (const name of ['x-content-type-options', 'content-security-policy']) {
        const [lacking, ...more] = refused.filter(({ exchange }) => headerOf(exchange, name) === undefined)
        const having = refused.filter(({ exchange }) => headerOf(exchange, name) !== undefined)
        // If only one answer has the header, this answer may be a page of the client.
        if (!lacking || more.length > 0 || having.length < 2) continue
        fail(
          `The answer to ${lacking.odd.what} (status ${statusOf(lacking.exchange)}) has no ${name}. The answers to ${having.map(({ odd }) => odd.what).join(' and ')} have this header.`,
          lacking.exchange,
          ...having.map(({ exchange }) => exchange),
        )
      }
    },
  },
  ...bodies,
  ...forgeries,
  ...limits,
  ...libraryMessages,
  ...formTypes,
  ...signedIn,
  ...servedFiles,
]
