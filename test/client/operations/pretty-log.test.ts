// Tests the log as a developer reads it, with pino-pretty.
import { PassThrough } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { openReadableLog } from '../../../src/client/operations/log.ts'

async function print(entry: Record<string, unknown> | string, level: 'info' | 'warn' | 'error' | 'fatal' = 'info') {
  const out = new PassThrough({ encoding: 'utf8' })
  const base = { app: 'client', version: '1.0.0' }
  const options = { base, timestamp: pino.stdTimeFunctions.isoTime }
  pino(options, (await openReadableLog(out))!)[level](entry)
  return out.read() as string
}

t.test('a log line has the time, the level, the event and the details of the event', async t => {
  t.match(
    await print({ event: 'request', route: '/page', status: 200, reqId: 'x', visitor: 'y' }),
    /^\[\d\d:\d\d:\d\d\] INFO: request \{"route":"\/page","status":200\}\n$/,
  )
  t.match(await print({ event: 'api_timeout' }, 'warn'), /\] WARN: api_timeout\n$/)
  t.match(await print({ event: 'internal' }, 'error'), /\] ERROR: internal\n$/)
  t.match(await print({ event: 'crashed' }, 'fatal'), /\] FATAL: crashed\n$/)
  t.match(await print('Text of a product'), /\] INFO: Text of a product\n$/)
})

t.test('the stack of an error has a line for each call', async t => {
  const cause = { name: 'Error', stack: 'Error: no\n    at one (a.ts:1:1)\n    at two (b.ts:2:2)' }
  const lines = (await print({ event: 'internal', cause }, 'error')).split('\n')
  t.match(lines[0], 'ERROR: internal')
  t.ok(lines.some(line => /^ +at one/.test(line)))
  t.ok(lines.some(line => /^ +at two/.test(line)))
})

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
const controlCharacters = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/
const hostile = '\u001b[31m/x\r\n[12:00:00] INFO: login_succeeded\u0007\u009b31m'

t.test(
  'LG-03: no control character reaches the terminal, and no line begins with text that somebody else has chosen',
  async t => {
    const line = await print({ event: 'request', route: hostile, [hostile]: 1 })
    t.equal(line.split('\n').length, 2)
    t.notMatch(line, controlCharacters)
    const stack = await print({ event: 'internal', cause: { stack: hostile, message: hostile } }, 'error')
    const text = await print(hostile)
    for (const printed of [stack, text]) t.notMatch(printed, controlCharacters)
    t.same(
      (stack + text).split('\n').filter(line => line.startsWith('[12:00:00]')),
      [],
    )
  },
)
