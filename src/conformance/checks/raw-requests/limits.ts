// Checks with requests that are too large or have an ambiguous length, and with connections that break.
import { setTimeout as wait } from 'node:timers/promises'
import type { Form } from '../../browser/form.ts'
import { type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, headerOf, headersOf, statusOf } from '../../findings.ts'
import { type RawAnswer, sendAndReset } from '../../raw-connection.ts'
import { filledFields, ownForm, sendForm } from '../../steps/application-pages.ts'
import { typedAddress } from '../../steps/callback.ts'
import { openCreateForm, submitCreate } from '../../steps/create-form.ts'
import { namesVersion } from '../../steps/page-content.ts'
import { expectStillThere, type Odd, requestText } from '../../steps/raw.ts'

const formType = 'application/x-www-form-urlencoded'

/** The size of the long form, in bytes. A normal form about an application is smaller than 10 KB. */
const tooLongForm = 500_000

/** The size of the long headers, in bytes. Common servers accept up to 1 MB of headers by default. */
const tooLongHeaders = 1_500_000

/**
 * Whether the client has refused the request: the client answered with a status for refusals, or closed the connection.
 */
function isRefused({ exchange, isClosed }: RawAnswer): boolean {
  return isClosed || [400, 411, 413, 414, 417, 431, 501].includes(statusOf(exchange))
}

/**
 * Recognizes the development server of PHP by the Host header in its answers. A client cannot change how this server
 * reads requests.
 */
function isDevelopmentServer({ exchange }: RawAnswer): boolean {
  return headerOf(exchange, 'host') !== undefined
}

/**
 * Sends the requests in `all`, which the client must refuse. Ends the check if the client also refuses `plain`, a
 * correct request.
 */
async function expectAllRefused(context: CheckContext, plain: string, all: Odd[], advice: string) {
  const control = await context.sendBytes({ head: plain })
  const status = statusOf(control.exchange)
  if (status === 0) throw new Undecided('The client did not answer a normal request.')
  if (isRefused(control)) throw new Undecided(`The client answered a normal request with status ${status}.`)
  for (const odd of all) {
    const answer = await context.sendBytes(odd)
    expect(
      isRefused(answer),
      statusOf(answer.exchange) === 0
        ? `The client neither refuses ${odd.what} nor closes the connection.`
        : `The client answers ${odd.what} with status ${statusOf(answer.exchange)}, ${advice}.`,
      answer.exchange,
    )
  }
  await expectStillThere(context, all.at(-1)!.what)
}

/** A request that needs no session. `lines` are its last headers. */
function requestWith({ settings }: CheckContext, methodAndPath: string, lines: string[], body: string): string {
  const own = [
    `host: ${new URL(settings.client).host}`,
    `origin: ${settings.client}`,
    'sec-fetch-site: same-origin',
    `content-type: ${formType}`,
    'connection: close',
  ]
  return `${methodAndPath} HTTP/1.1\r\n${[...own, ...lines].join('\r\n')}\r\n\r\n${body}`
}

/** A POST request that needs no session. `lines` are its last headers. */
function post(context: CheckContext, lines: string[], body = ''): string {
  const { logout, create, login } = context.settings
  const path = logout?.method === 'POST' ? logout.path : create || login
  return requestWith(context, `POST ${path}`, lines, body)
}

/** Sends requests with the header lines in `all`, and fails unless the client refuses all of them. */
async function expectHeadersRefused(context: CheckContext, all: string[][], advice: string) {
  const control = await context.sendBytes({ head: post(context, ['content-length: 3'], 'a=b') })
  if (isDevelopmentServer(control))
    throw new NotApplicable('the client runs on the development server of PHP, which must not be used in production')
  // Some frameworks answer a form without their token with status 400, which is also the status of a server that
  // refuses the header lines.
  const send = isRefused(control)
    ? (lines: string[]) => requestWith(context, `GET ${context.settings.login}`, lines, 'a=b')
    : (lines: string[]) => post(context, lines, 'a=b')
  const what = isRefused(control) ? 'a GET' : 'a POST'
  const odd = all.map(lines => ({ what: `${what} with ${lines.join(' and ')}`, head: send(lines) }))
  await expectAllRefused(context, send(['content-length: 3']), odd, advice)
}

export const limits: CheckDefinition[] = [
  {
    id: 'raw-two-lengths',
    title: 'The client refuses a request with two different Content-Length headers',
    rule: 'one-content-length',
    why: 'If a proxy in front of the client uses the other length, an attacker can hide a second request in the body of the first request.',
    fix: 'Use a server that answers such a request with status 400, and do not switch off this protection.',
    async run(context) {
      const all = [
        ['content-length: 3', 'content-length: 0'],
        ['content-length: 0', 'content-length: 3'],
        ['Content-Length: 3', 'content-length: 30'],
        ['content-length: 3, 0'],
      ]
      await expectHeadersRefused(context, all, 'so it has used one of the two lengths')
    },
  },
  {
    id: 'raw-space-before-colon',
    title: 'The client refuses a request with a space between a header name and the colon',
    rule: 'no-space-before-colon',
    why: 'If a proxy in front of the client reads such a header differently, an attacker can hide a second request in the body of the first request.',
    fix: 'Use a server that answers such a request with status 400, and do not switch off this protection.',
    async run(context) {
      const all = [
        ['content-length: 3', 'transfer-encoding : chunked'],
        ['content-length : 3'],
        ['content-length: 3', 'x-any : a'],
      ]
      await expectHeadersRefused(context, all, 'so it has read the request although this header is invalid')
    },
  },
  {
    id: 'raw-headers-endless',
    title: `The client refuses headers of ${tooLongHeaders / 1e6} MB`,
    rule: 'bounded-headers',
    why: 'The server keeps all headers of a request in memory before the code of the client runs.',
    fix: "Set the server's limit for headers to 16 KB or 32 KB, and answer longer headers with status 431.",
    async run(context) {
      const plain = requestText(context, 'GET', context.settings.login)
      const long = 'a'.repeat(tooLongHeaders)
      const many = Object.fromEntries(
        Array.from({ length: tooLongHeaders / 6000 }, (_, at) => [`x-many-${at}`, long.slice(0, 6000)]),
      )
      await expectAllRefused(
        context,
        plain,
        [
          ['one header', { 'x-long': long }],
          ['many headers', many],
          ['one cookie', { cookie: `a=${long}` }],
        ].map(([what, headers]) => ({
          what: `${tooLongHeaders / 1e6} MB of headers (${what})`,
          head: requestText(context, 'GET', context.settings.login, { headers: headers as Record<string, string> }),
        })),
        'so it has read all of them',
      )
    },
  },
  {
    id: 'raw-reset',
    title: 'After connections have broken in the middle of requests and answers, the client still answers',
    rule: 'stays-up',
    why: 'Browsers and phones break connections all the time. Writing to a broken connection causes an error, and this error can end the process.',
    fix: 'Catch the errors that happen when you read from or write to a broken connection. Do not let the signal SIGPIPE end the process.',
    async run(context) {
      const { login, client } = context.settings
      const pageText = requestText(context, 'GET', '/', { headers: { connection: 'keep-alive' } })
      const loginText = requestText(context, 'GET', login, { headers: { connection: 'keep-alive' } })
      const upload = post(context, ['content-length: 20000'], 'name=half')
      const texts = [pageText.repeat(20), loginText.repeat(20), upload, loginText.slice(0, 40)]
      for (const afterMs of [1, 5, 20, 60])
        await Promise.all(texts.flatMap(text => Array.from({ length: 5 }, () => sendAndReset(client, text, afterMs))))
      await wait(200)
      await expectStillThere(context, 'broken connections')
    },
  },
  {
    id: 'raw-body-long',
    title: `The client refuses a form of ${tooLongForm / 1000} KB`,
    rule: 'bounded-bodies',
    why: 'The client keeps a form in memory and reads it field by field. With a few long forms, an attacker can keep the client busy, so that other visitors wait.',
    fix: 'Set the limit for a form to 64 KB or less, and answer a longer form with status 413.',
    needs: ['page', 'create'],
    async run(context) {
      const open = await openCreateForm(context)
      const fields: Form['fields'] = [...filledFields(open.form, open.values), ['unknown', 'a'.repeat(tooLongForm)]]
      const { answer, status } = await sendForm(context, open.browser, { ...open.form, fields }, ownForm(context))
      await context.platform.settle()
      const calls = context.arrived('api').filter(({ request }) => request.method === 'POST')
      expect(calls.length === 0, 'The client sent the long form to the API.', answer)
      expect(status !== 422, 'The client answered the long form with status 422, so it has read the fields.', answer)
      await submitCreate(context, await openCreateForm(context))
    },
  },
  {
    id: 'raw-server-version',
    title: 'No answer has a header with the version of the server or of a framework',
    rule: 'no-server-version',
    why: 'An attacker who knows the version knows which published vulnerabilities to try.',
    fix: 'Remove the headers Server and X-Powered-By, or remove the version from them.',
    async run(context) {
      const { login, callback, page, create } = context.settings
      const paths = [...new Set(['/', login, callback, page, create, '/no-such-page-of-conformance'])].filter(Boolean)
      const answers = []
      for (const path of paths) answers.push(await context.request(path, { headers: typedAddress }))
      answers.push((await context.sendBytes({ head: post(context, ['content-length: 3'], 'a=b') })).exchange)
      answers.push((await context.sendBytes({ head: post(context, ['content-length: abc'], 'a=b') })).exchange)
      for (const answer of answers) {
        const [name, value] = headersOf(answer).find(header => namesVersion(...header)) ?? []
        expect(name === undefined, `The answer to ${answer.request.url} has the header ${name}: ${value}.`, answer)
      }
    },
  },
]
