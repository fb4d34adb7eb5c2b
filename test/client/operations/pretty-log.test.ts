// The log as a person at a terminal sees it.
import { PassThrough } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { prettyLog } from '../../../src/client/operations/log.ts'

function lineOf(entry: Record<string, unknown>, level: 'info' | 'warn' | 'error' | 'fatal' | 'debug' = 'info'): string {
  const out = new PassThrough({ encoding: 'utf8' })
  const options = {
    level: 'debug',
    base: { app: 'client', version: '1.0.0' },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  pino(options, prettyLog(out))[level](entry)
  return out.read() as string
}

t.test('a line has the time, the level where it matters, the event and its details', t => {
  t.match(
    lineOf({ event: 'request', route: '/page', status: 200, reqId: 'x', visitor: 'y' }),
    /^\d\d:\d\d:\d\d {3}request route="\/page" status=200\n$/,
  )
  t.match(lineOf({ event: 'api_timeout' }, 'warn'), /^\d\d:\d\d:\d\d warn api_timeout/)
  t.match(lineOf({ event: 'internal' }, 'error'), / ERROR internal/)
  t.match(lineOf({ event: 'crashed' }, 'fatal'), / FATAL crashed/)
  t.match(lineOf({ event: 'detail' }, 'debug'), / debug detail/)
  t.end()
})

t.test('LG-03: whatever a line holds, it stays one line, and colours no terminal', t => {
  const line = lineOf({ event: 'request', route: '\u001b[31m/x\r\n12:00:00   login_succeeded\u0007' })
  t.equal(line.split('\n').length, 2)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  t.notMatch(line.slice(0, -1), /[\u0000-\u001f]/)
  t.end()
})
