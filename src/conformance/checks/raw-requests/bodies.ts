// Bodies that are not what their head says: without end, too short, too long, and forms that no page sends.

import { setTimeout as wait } from 'node:timers/promises'
import type { Row } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import { sendBytes } from '../../raw-connection.ts'
import { expectOwnStatus, expectStillThere, type Odd, requestText, sendOdd } from '../../steps/raw.ts'

const formType = 'application/x-www-form-urlencoded'

/** Where the client takes forms. */
function formPaths({ settings }: CheckContext): string[] {
  const { logout, create, page } = settings
  const paths = [logout?.method === 'POST' ? logout.path : '', create, page].filter(path => path !== '')
  return paths.length > 0 ? [...new Set(paths)] : [settings.login]
}

function post(context: CheckContext, path: string, headers: Record<string, string>, body: string): string {
  const own = { 'content-type': formType, origin: context.settings.client, 'sec-fetch-site': 'same-origin', ...headers }
  return requestText(context, 'POST', path, { headers: own, body })
}

/** What a form may look like that no page has sent. */
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
      what: `POST ${path} with ${JSON.stringify(body.length > 40 ? `${body.slice(0, 40)}…` : body)} as ${type ?? 'no type'}`,
      head: post(context, path, { 'content-type': type as string }, body),
    })),
  )
}

/** Of a body whose length is not what its head says. */
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
      of('with the Content-Length 99999999999999999999', { 'content-length': '99999999999999999999' }, 'name=a'),
      of('with chunks of no length', { 'transfer-encoding': 'chunked' }, 'zz\r\nname=a\r\n'),
      of('in an encoding that nobody knows', { 'transfer-encoding': 'rot13' }, 'name=a'),
    ]
  })
}

/** Bytes that a client may take before it has to say that it is enough. Servers have bounds of up to some 30 MB. */
const mostBytes = 48 * 1024 * 1024

export const bodies: Row[] = [
  {
    id: 'raw-forms',
    title: 'Forms that no page sends are answered, and the client goes on',
    rule: 'stays-up',
    why: 'Anybody can send them; an exception that nobody catches is an outage for everybody.',
    fix: 'Check the type of a body before it is read, and answer what cannot be read with status 400 or 415.',
    run: async context => void (await sendOdd(context, oddForms(context))),
  },
  {
    id: 'raw-forms-status',
    title: 'Forms that no page sends are answered with a status that says whose fault it is',
    rule: 'bad-request-status',
    why: 'A 500 wakes somebody up at night, and tells an attacker that something broke.',
    fix: 'Check the type of a body before it is read, and answer what cannot be read with status 400 or 415.',
    run: context => expectOwnStatus(context, oddForms(context)),
  },
  {
    id: 'raw-body-length',
    title: 'A body of another length than its head says ends its connection and nothing else',
    rule: 'stays-up',
    why: 'Broken proxies and attackers send it, and everybody else is still being served.',
    fix: 'Leave framing to the server, and handle the error that reading such a body raises.',
    async run(context) {
      const { client } = context.settings
      for (const odd of wrongLengths(context)) {
        // The server may wait for the rest: it is not asked how long.
        await sendBytes(client, { ...odd, timeoutMs: 300 })
      }
      await expectStillThere(context, 'bodies of a wrong length', [])
    },
  },
  {
    id: 'raw-body-unfinished',
    title: 'While bodies are on their way that do not end, everybody else is answered',
    rule: 'stays-up',
    why: 'A handful of slow senders would otherwise be enough to shut everybody out.',
    fix: 'Serve requests side by side, and give the body of a request a deadline.',
    async run(context) {
      const { client } = context.settings
      const open = formPaths(context).flatMap(path => Array.from({ length: 8 }, () => path))
      const done = new AbortController()
      const all = open.map(path => {
        const head = `${post(context, path, { 'content-length': '1000' }, '')}name=half`
        return sendBytes(client, { head, timeoutMs: 10_000, signal: done.signal })
      })
      await wait(200)
      try {
        await expectStillThere(context, `${open.length} bodies that do not end`, [])
      } finally {
        done.abort()
        await Promise.all(all)
      }
    },
  },
  {
    id: 'raw-body-endless',
    title: 'A body without end is refused or left, not read for ever',
    rule: 'bounded-bodies',
    why: 'What is read is kept somewhere, and one sender can fill it.',
    fix: 'Set a bound for bodies, such as 64 KB for a form, and answer with status 413.',
    longestMs: 40_000,
    async run(context) {
      const { client } = context.settings
      const chunk = `10000\r\n${'a'.repeat(0x1_00_00)}\r\n`
      for (const path of formPaths(context)) {
        const answer = await sendBytes(client, {
          head: `${post(context, path, { 'content-length': undefined as unknown as string, 'transfer-encoding': 'chunked' }, '')}`,
          timeoutMs: 10_000,
          more: async function* () {
            for (let sent = 0; sent < mostBytes; sent += chunk.length) yield chunk
          },
        })
        const isTaken = answer.status === 0 && !answer.isClosed && answer.sent >= mostBytes
        expect(!isTaken, `POST ${path} took ${Math.round(answer.sent / 1e6)} MB and asked for more.`, answer.exchange)
      }
      await expectStillThere(context, 'a body without end', [])
    },
  },
]
