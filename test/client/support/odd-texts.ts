// Long and repetitive text that makes a careless check slow, and functions that measure how long an answer takes.
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { cpuMs } from '../../support/stopwatch.ts'
import type { TestBrowser } from '../../support/test-browser.ts'
import { publicUrl } from './build-test-client.ts'

export const oddPatterns = [
  'a',
  'a@',
  '((',
  '%',
  ' ',
  ',',
  '\n',
  '/',
  'https://',
  '<',
  '&amp;',
  '\\',
  "'",
  '-',
  '..',
  'é',
  '0',
]

/** Repeats `pattern` until the text has `length` characters, or slightly fewer. */
export const repeatTo = (length: number, pattern: string) => pattern.repeat(Math.floor(length / pattern.length))

/**
 * Measures the shortest CPU time of up to ten attempts, in ms. Slow code is slow in every attempt, but garbage
 * collection delays only some attempts.
 */
export async function fastest(work: () => Promise<{ statusCode: number }>) {
  let ms = Number.POSITIVE_INFINITY
  let statusCode = 0
  for (let count = 0; count < 10 && ms >= 100; count++) {
    const before = cpuMs()
    statusCode = (await work()).statusCode
    ms = Math.min(ms, cpuMs() - before)
  }
  return { ms, statusCode }
}

type Sender = { browser: TestBrowser; client: FastifyInstance }

/**
 * Sends the form once for each field and each pattern. The field then contains 30 KB of the pattern, and the other
 * fields are unchanged. Fails if an answer takes 100 ms or longer.
 */
export async function sendOddForms(t: Test, { browser, client }: Sender, url: string, form: Record<string, string>) {
  const headers = {
    cookie: browser.cookieHeader(),
    origin: publicUrl,
    'content-type': 'application/x-www-form-urlencoded',
  }
  for (const field of Object.keys(form)) {
    const rest = new URLSearchParams({ ...form, [field]: '' }).toString()
    for (const pattern of oddPatterns) {
      const payload = `${rest}&${field}=${repeatTo(30_000, encodeURIComponent(pattern))}`
      const { ms, statusCode } = await fastest(() => client.inject({ method: 'POST', url, payload, headers }))
      if (ms >= 100 || statusCode >= 500) t.fail(`${field} of ${JSON.stringify(pattern)}: ${statusCode}, ${ms} ms`)
    }
  }
  t.pass(`${Object.keys(form).length * oddPatterns.length} forms`)
}
