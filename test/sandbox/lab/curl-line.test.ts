// Tests that the laboratory turns a step into the same request as a curl command.
import t from 'tap'
import { toCurlLine } from '../../../src/sandbox/lab/explain/curl-line.ts'
import { step } from './support/recorded-steps.ts'

const addresses = { portalUrl: 'http://portal.test', apiUrl: 'http://api.test', labUrl: 'http://lab.test' }

t.test(
  'the curl command of a step repeats the content type, the lists and the Authorization scheme of the request',
  t => {
    const json = { 'content-type': 'application/json; charset=utf-8' }
    const post = { method: 'POST' }
    const body = { data: { name: 'Mine', redirectUris: ['https://a.test/'], scopes: ['a', 'b'] }, clientSecret: 's' }
    const rows: [situation: string, request: Parameters<typeof step>[1], command: string][] = [
      [
        'JSON with lists',
        { body, headers: { ...json, authorization: 'bearer a.b.c' } },
        `-H 'authorization: Bearer <authorization>' -H 'content-type: application/json; charset=utf-8' -d '{"data":{"name":"Mine","redirectUris":["https://a.test/"],"scopes":["a","b"]},"clientSecret":"<clientSecret>"}'`,
      ],
      ['Basic', { headers: { authorization: 'Basic YTpi' } }, `-H 'authorization: Basic <authorization>'`],
      ['no token after Bearer', { headers: { authorization: 'Bearer' } }, `-H 'authorization: Bearer '`],
      ['a token without a scheme', { headers: { authorization: 'abc' } }, `-H 'authorization: <authorization>'`],
      [
        'a form',
        { body: { '@type': "it's", code: '' }, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
        `--data-urlencode '@type=it'\\''s' --data-urlencode 'code='`,
      ],
      [
        'a content type that the platform does not read',
        { headers: { 'content-type': 'text/plain' } },
        `-H 'content-type: text/plain' -d '<body>'`,
      ],
      ['no body', { headers: json }, `-H 'content-type: application/json; charset=utf-8'`],
    ]
    for (const [situation, request, command] of rows)
      t.equal(
        toCurlLine(step('api', request, post), addresses),
        `curl -X POST 'http://api.test/' ${command}`,
        situation,
      )
    t.equal(
      toCurlLine(step('api', { headers: { 'content-type': 'text/plain' } }), addresses),
      `curl 'http://api.test/' -H 'content-type: text/plain'`,
    )
    t.end()
  },
)
