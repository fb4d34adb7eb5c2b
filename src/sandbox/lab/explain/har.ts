// Converts a login to HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), which browsers and proxies can show.
import { STATUS_CODES } from 'node:http'
import { object, type Schema } from '../../http/describe.ts'
import type { LabAddresses } from '../addresses.ts'
import { firstOf, type RecordedLogin, type RecordedStep, type Values } from '../record/recorded.ts'
import { addressOf, entriesOf } from './curl-line.ts'

/** The schema of the answer, under its name in the OpenAPI document. */
export const harSchemas: Record<string, Schema> = {
  Har: {
    ...object({ log: { type: 'object', additionalProperties: true } }),
    description: 'HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/).',
  },
}

export function toHar({ steps }: RecordedLogin, addresses: LabAddresses) {
  return {
    log: {
      version: '1.2',
      creator: { name: 'sandbox', version: '1' },
      entries: steps.map(step => toEntry(step, addresses)),
    },
  }
}

function toEntry(step: RecordedStep, addresses: LabAddresses) {
  const { at, durationMs, request, response, reason, fault } = step
  const comments = [reason, fault && `fault ${fault.name}`].filter(Boolean)
  const unknownSizes = { headersSize: -1, bodySize: -1 }
  return {
    startedDateTime: at.toISOString(),
    time: durationMs,
    request: {
      method: request.method,
      url: addressOf(step, request.query, addresses),
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: pairsOf(request.headers),
      queryString: pairsOf(request.query),
      ...(Object.keys(request.body).length > 0 && {
        postData: { mimeType: textOf(request.headers, 'content-type'), params: pairsOf(request.body) },
      }),
      ...unknownSizes,
    },
    response: {
      status: response.status,
      statusText: STATUS_CODES[response.status] ?? '',
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: pairsOf(response.headers),
      content: {
        size: -1,
        mimeType: textOf(response.headers, 'content-type'),
        text: JSON.stringify(Object.fromEntries(entriesOf(response.body))),
      },
      redirectURL: textOf(response.location, 'redirect_uri'),
      ...unknownSizes,
    },
    cache: {},
    timings: { send: 0, wait: durationMs, receive: 0 },
    ...(comments.length > 0 && { comment: comments.join(', ') }),
  }
}

function pairsOf(values: Values): { name: string; value: string }[] {
  return entriesOf(values).map(([name, value]) => ({ name, value }))
}

function textOf(values: Values, name: string): string {
  const value = firstOf(values, name)
  return typeof value === 'string' ? value : ''
}
