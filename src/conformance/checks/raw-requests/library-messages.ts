// Checks the answers to requests that a library refuses before the client's own code reads them.
import type { CheckDefinition } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { bodyOf, fail } from '../../findings.ts'
import { type Odd, requestText, sendAnswered } from '../../steps/raw.ts'

const formType = 'application/x-www-form-urlencoded'

/** Messages that libraries write about a request that they cannot read. */
const messages: RegExp[] = [
  /Failed to decode param|URI malformed|URIError/,
  /unsupported charset|content encoding unsupported|incorrect header check/,
  /too many parameters|request entity too large|request size did not match|Unexpected end of form/,
  /invalid URL escape|http: request body too large|invalid semicolon separator|mime: /,
  /FST_ERR_\w+|Malformed part header|Multipart: Boundary not found/,
  /codec can't decode|UnicodeDecodeError|LookupError: unknown encoding|TooManyFields/,
  /java\.\w+\.|javax?\.servlet|org\.(eclipse|apache|springframework)\./,
  /ActionController::|ActionDispatch::|Rack::|incomplete multibyte/,
]

export const libraryMessages: CheckDefinition[] = [
  {
    id: 'raw-own-words',
    title: 'If a library refuses a request, the page does not show the message of the library',
    rule: 'generic-errors',
    why: 'A message from a library shows an attacker how the client is built, and can repeat a part of the request. It does not help the visitor.',
    fix: 'In the error handler, show a fixed sentence for each status, also for the errors of the router and of the parser. Write the message of the error into the log.',
    async run(context) {
      for (const { odd, exchange } of await sendAnswered(context, refusedRequests(context))) {
        const message = messages.map(pattern => pattern.exec(bodyOf(exchange))?.[0]).find(text => text !== undefined)
        if (message !== undefined) fail(`The answer to ${odd.what} shows the message “${message}”.`, exchange)
      }
    },
  },
]

function refusedRequests(context: CheckContext): Odd[] {
  const { client, login, create, page, logout } = context.settings
  const paths = [...new Set(['', page, create].map(path => path.replace(/\/$/, '')))]
  const gets = paths.flatMap(path =>
    ['/%', '/%E0%A4%A', '/%ff/edit', '/%00'].map(end => ({
      what: `GET ${path}${end}`,
      head: requestText(context, 'GET', path + end),
    })),
  )
  const own = { origin: client, 'sec-fetch-site': 'same-origin' }
  const manyFields = Array.from({ length: 1500 }, (_, at) => `a${at}=1`).join('&')
  const bodies: [what: string, headers: Record<string, string>, body: string][] = [
    ['a form in UTF-7', { 'content-type': `${formType}; charset=utf-7` }, 'name=a'],
    ['a form in an unknown charset', { 'content-type': `${formType}; charset=conformance` }, 'name=a'],
    [
      'a form with an unknown content encoding',
      { 'content-type': formType, 'content-encoding': 'conformance' },
      'name=a',
    ],
    ['a form that is said to be compressed', { 'content-type': formType, 'content-encoding': 'gzip' }, 'name=a'],
    ['a form with 1,500 fields', { 'content-type': formType }, manyFields],
    ['a form with an invalid escape', { 'content-type': formType }, 'name=%zz&%=%E0%A4%A'],
    ['a multipart form without a boundary', { 'content-type': 'multipart/form-data' }, 'x'],
    ['a multipart form without an end', { 'content-type': 'multipart/form-data; boundary=a' }, '--a\r\nx'],
    ['JSON that ends early', { 'content-type': 'application/json' }, '{"name":'],
  ]
  const targets = [...new Set([create, logout?.path ?? '', login].filter(path => path !== ''))]
  const posts = targets.flatMap(path =>
    bodies.map(([what, headers, body]) => ({
      what: `${what}, sent to ${path}`,
      head: requestText(context, 'POST', path, { headers: { ...own, ...headers }, body }),
    })),
  )
  return [...gets, ...posts]
}
