// Checks with forms that no page sends, and with bodies that are endless, too short or too long.

import { setTimeout as wait } from 'node:timers/promises'
import { type CheckDefinition, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, fail, statusOf } from '../../findings.ts'
import type { RawBytes } from '../../raw-connection.ts'
import { typedAddress } from '../../steps/callback.ts'
import { expectOwnStatus, expectStillThere, type Odd, requestText, sendOdd } from '../../steps/raw.ts'

const formType = 'application/x-www-form-urlencoded'

/** The paths at which the client accepts forms. */
function formPaths({ settings }: CheckContext): string[] {
  const { logout, create, page } = settings
  const paths = [logout?.method === 'POST' ? logout.path : '', create, page].filter(path => path !== '')
  return paths.length > 0 ? [...new Set(paths)] : [settings.login]
}

function post(context: CheckContext, path: string, headers: Record<string, string>, body: string): string {
  const own = { 'content-type': formType, origin: context.settings.client, 'sec-fetch-site': 'same-origin', ...headers }
  return requestText(context, 'POST', path, { headers: own, body })
}

/** Forms with contents that no page of a client sends. */
function oddForms(context: CheckContext): Odd[] {
  const contents: [type: string | undefined, body: string][] = [
    [formType, '%'],
    [formType, 'name=%E0%A4%A&%=%zz'],
    [formType, '__proto__[a]=1&constructor[prototype][b]=2&name[a][b]=c'],
    [formType, `${'a[b]'.repeat(1000)}=1`],
    [formType, 'name=a&name=b&name=c'],
    [formType, '\u0000\u00ff'],
    ['application/json', '{"a":'],
    ['application/json', 'null'],
    ['application/json', '['.repeat(20_000)],
    ['multipart/form-data', 'x'],
    ['multipart/form-data; boundary=a', '--a\r\ncontent-disposition: form-data\r\n\r\nx'],
    ['text/plain', 'x'],
    ['x', 'x'],
    [undefined, 'name=a'],
  ]
  return formPaths(context).flatMap(path =>
    contents.map(([type, body]) => ({
      what: `POST ${path} with ${JSON.stringify(body.length > 40 ? `${body.slice(0, 40)}…` : body)} ${type ? `as ${type}` : 'without a content type'}`,
      head: post(context, path, { 'content-type': type as string }, body),
    })),
  )
}

/** Requests whose body is longer or shorter than the headers say. */
function wrongLengths(context: CheckContext): Odd[] {
  return formPaths(context).flatMap(path => {
    const of = (what: string, headers: Record<string, string>, body: string): Odd => ({
      what: `POST ${path} ${what}`,
      head: post(context, path, { 'content-length': undefined as unknown as string, ...headers }, '') + body,
      isNoHttp: true,
    })
    return [
      of('with more than its Content-Length', { 'content-length': '3' }, 'name=more-than-three'),
      of('with the Content-Length abc', { 'content-length': 'abc' }, 'name=a'),
      of('with the Content-Length -1', { 'content-length': '-1' }, 'name=a'),
      // With a larger Content-Length, the development server of PHP would reserve too much memory and stop. This would
      // not be a mistake of the client.
      of('with a Content-Length that is never reached', { 'content-length': '60000' }, 'name=a'),
      of('with chunks that state no length', { 'transfer-encoding': 'chunked' }, 'zz\r\nname=a\r\n'),
      of('in an unknown encoding', { 'transfer-encoding': 'rot13' }, 'name=a'),
    ]
  })
}

/** The number of bytes after which a client must stop reading. The usual limits of servers go up to about 30 MB. */
const mostBytes = 48 * 1024 * 1024

/** A normal request for the login path, as another visitor sends it. */
function plainRequest(context: CheckContext, timeoutMs: number): RawBytes {
  return { head: requestText(context, 'GET', context.settings.login, { headers: typedAddress }), timeoutMs }
}

/**
 * Whether the client serves only one request at a time. If so, a plain request has to wait while another request waits
 * for the API.
 */
async function servesOneAtATime(context: CheckContext): Promise<boolean> {
  const { page } = context.settings
  if (!page) return false
  const { browser } = await context.signedIn()
  await context.order('list-never', { times: 1 })
  let isOver = false
  const slow = browser
    .newTab()
    .visit(context.url(page))
    .finally(() => {
      isOver = true
    })
  await wait(500)
  if (isOver) return false
  await context.sendBytes(plainRequest(context, 20_000))
  const hasWaited = isOver
  await context.dropFaults()
  await slow
  return hasWaited
}

export const bodies: CheckDefinition[] = [
  {
    id: 'raw-forms',
    title: 'The client answers forms with invalid contents, and keeps running',
    rule: 'stays-up',
    why: 'Anyone can send an invalid form. An exception that the client does not catch can crash the client for all visitors.',
    fix: 'Check the type of a body before you read it. Answer a body that you cannot read with status 400 or 415.',
    run: async context => void (await sendOdd(context, oddForms(context))),
  },
  {
    id: 'raw-forms-status',
    title: 'The client never uses status 500, 502, 503 or 504 to answer forms with invalid contents',
    rule: 'bad-request-status',
    why: 'Status 500 means a mistake in the client. Each such request alarms the operators of the client, and shows an attacker where the client is weak.',
    fix: 'Check the type of a body before you read it. Answer a body that you cannot read with status 400 or 415.',
    run: context => expectOwnStatus(context, oddForms(context)),
  },
  {
    id: 'raw-body-length',
    title: 'After a body of the wrong length, the client still answers other requests',
    rule: 'stays-up',
    why: 'Broken proxies and attackers send such bodies. If one such body blocks or crashes the client, no visitor gets an answer.',
    fix: 'Let the HTTP server find the end of a body, and catch the errors that happen while you read a body.',
    async run(context) {
      for (const odd of wrongLengths(context)) {
        // Does not wait for an answer, because the server may wait for the rest of the body.
        await context.sendBytes({ ...odd, timeoutMs: 300 })
      }
      await expectStillThere(context, 'bodies of a wrong length')
    },
  },
  {
    id: 'raw-body-unfinished',
    // If a server has only one worker, the check ends as undecided. Such a server is correct behind a proxy that waits
    // for the whole body before it sends the request to the server.
    title: 'While the client waits for unfinished bodies, it still answers other visitors',
    rule: 'stays-up',
    why: 'If the client waits for each body before it serves the next request, a few slow senders block all visitors.',
    fix: 'Serve requests in parallel, and set a deadline for the body of a request.',
    longestMs: 120_000,
    async run(context) {
      const open = formPaths(context).flatMap(path => Array.from({ length: 8 }, () => path))
      const done = new AbortController()
      const all = open.map(path => {
        const head = `${post(context, path, { 'content-length': '1000' }, '')}name=half`
        return context.sendBytes({ head, timeoutMs: 10_000, signal: done.signal })
      })
      await wait(200)
      const answer = await context.sendBytes(plainRequest(context, 5000))
      done.abort()
      await Promise.all(all)
      if (statusOf(answer.exchange) > 0) return
      if (await servesOneAtATime(context))
        throw new Undecided(
          'The client serves one request at a time, so a visitor with a slow connection makes all other visitors wait. Run the client with several workers, or behind a proxy that waits for the whole body before it sends the request to the client.',
        )
      fail(
        `While the client waited for ${open.length} unfinished bodies, it did not answer another visitor within 5 seconds.`,
        answer.exchange,
      )
    },
  },
  {
    id: 'raw-body-endless',
    title: 'The client refuses a body that never ends, or stops reading it',
    rule: 'bounded-bodies',
    why: 'The client keeps a body in memory or on disk, so a body that never ends fills the memory or the disk. This check only warns. Many servers have no limit by default, so many simple clients would fail, although the rest of their code is correct.',
    fix: 'Set a limit for bodies, such as 64 KB for a form. Answer a longer body with status 413.',
    longestMs: 40_000,
    async run(context) {
      const chunk = `10000\r\n${'a'.repeat(0x1_00_00)}\r\n`
      for (const path of formPaths(context)) {
        const answer = await context.sendBytes({
          head: `${post(context, path, { 'content-length': undefined as unknown as string, 'transfer-encoding': 'chunked' }, '')}`,
          timeoutMs: 10_000,
          more: async function* () {
            for (let sent = 0; sent < mostBytes; sent += chunk.length) yield chunk
          },
        })
        const isTaken = statusOf(answer.exchange) === 0 && !answer.isClosed && answer.sent >= mostBytes
        expect(
          !isTaken,
          `POST ${path} accepted ${Math.round(answer.sent / 1e6)} MB and asked for more.`,
          answer.exchange,
        )
      }
      await expectStillThere(context, 'an endless body')
    },
  },
]
