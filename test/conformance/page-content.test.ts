// Tests the functions with which checks search a page for scripts, addresses, resources from other sites and stack
// traces. They must ignore text that only looks like markup.
import t from 'tap'
import { createBrowser, type HttpExchange } from '../../src/conformance/browser/browser.ts'
import {
  addressesIn,
  foreignLoads,
  leadsToScript,
  mayGoOnByScript,
  runsScript,
  showsInside,
} from '../../src/conformance/steps/page-content.ts'

function answer(body: string, type = 'text/html; charset=utf-8'): HttpExchange {
  return {
    request: { method: 'GET', url: 'http://localhost/', headers: {} },
    response: { status: 200, headers: new Headers({ 'content-type': type }), setCookies: [], body },
    startedAt: 0,
    durationMs: 0,
  } as never
}

t.test('runsScript finds markup that runs a script, in many notations', async t => {
  for (const body of [
    '<p>Marker<script>conformance()</script>',
    '<IMG\nSRC=x\tOnError = conformance()>',
    "<span title='a' onmouseover='conformance()'>",
    '<title>Marker</title><svg/onload=conformance()>',
    '<script type="application/json">{"name":"</script><script>conformance()</script>"}</script>',
  ])
    t.ok(runsScript(answer(body), 'conformance()'), body)
})

t.test('runsScript ignores text that only looks like markup', async t => {
  for (const body of [
    '<p>&lt;script>conformance()&lt;/script>',
    '<!-- <img src=x onerror=conformance()> -->',
    '<textarea><img src=x onerror=conformance()></textarea>',
    '<p title="<img src=x onerror=conformance()>">',
    '<script type="application/json">{"name":"<script>conformance()"}</script>',
  ])
    t.notOk(runsScript(answer(body), 'conformance()'), body)
  t.notOk(runsScript(answer('{"name":"<img src=x onerror=conformance()>"}', 'application/json'), 'conformance()'))
})

t.test('leadsToScript finds links, forms and refreshes that run a script, and ignores inline images', async t => {
  for (const body of [
    '<a href=" java\nscript:alert(1)">',
    '<form><button formaction="javascript:alert(1)">',
    `<meta http-equiv="refresh" content="0; url='data:text/html,<script>alert(1)</script>'">`,
  ])
    t.ok(leadsToScript(answer(body), 'alert(1)'), body)
  for (const body of [
    '<img src="data:image/png;base64,AAAA">',
    '<a href="/?q=javascript:alert(1)">',
    '<p>javascript:alert(1)',
  ])
    t.notOk(leadsToScript(answer(body), 'alert(1)'), body)
})

t.test('addressesIn returns only addresses in elements, and not addresses in the text of a page', async t => {
  const body = '<link href=/a><form action="/b"></form><meta property="og:url" content="//evil.example/c"><p>href="/d"'
  t.same(addressesIn(answer(body)), ['/a', '/b', '//evil.example/c'])
})

t.test('foreignLoads finds the addresses that a page loads from other origins, and ignores links', async t => {
  const client = 'http://localhost:3000'
  for (const body of [
    '<script src=https://cdn.example/a.js></script>',
    '<link href="//cdn.example/a.css" rel="StyleSheet">',
    '<img srcset="/a.png 1x, https://cdn.example/b.png 2x">',
    '<base href="https://cdn.example/"><img src="a.png">',
    '<object data="https://cdn.example/a.swf"></object>',
  ])
    t.equal(foreignLoads(answer(body), client).length, 1, body)
  for (const body of [
    '<a href="https://cdn.example/">',
    '<link rel="canonical" href="https://other.example/">',
    '<!-- <script src="https://cdn.example/a.js"></script> -->',
    '<img src="data:image/png;base64,AAAA"><img src="/a.png">',
  ])
    t.same(foreignLoads(answer(body), client), [], body)
})

t.test('showsInside finds stack traces and source files in the text, in comments and in data of a page', async t => {
  for (const body of [
    '<pre>Error: x\n    at run (/srv/app/main.js:12:3)</pre>',
    '<pre>Traceback (most recent call last):\n  File &quot;/srv/app.py&quot;, line 12</pre>',
    '<!-- ECONNREFUSED 127.0.0.1:4001 -->',
    '<script type="application/json">{"stack":"at run (file:///srv/main.ts:1:2)"}</script>',
    '<p>Fatal error in /srv/index.php on line 3',
  ])
    t.ok(showsInside(answer(body)), body)
  for (const words of [
    'Get "http://127.0.0.1:8081/apps/v1": EOF',
    'dial tcp 127.0.0.1:8081: connect: connection refused',
    "HTTPConnectionPool(host='api', port=80): Max retries exceeded",
    'java.net.ConnectException: refused',
    "PlainPool(host='127.0.0.1', port=8): read timed out",
    "('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))",
    "ConnectionResetError(104, 'Connection reset by peer')",
    '[Errno 111] Connection refused',
    '&lt;urllib3.connection.HTTPConnection object at 0x7f3c2a1b9d50&gt;',
    '#&lt;Socket:0x000055d1&gt; is closed',
  ])
    t.ok(showsInside(answer(`<p>${words}`)), words)
  t.ok(showsInside(answer('panic\ngoroutine 1 [running]', 'text/plain')))
})

t.test('showsInside ignores pages with ordinary text, scripts and styles', async t => {
  for (const body of [
    '<p>Please try again\n   at noon, or call us.',
    '<script src="/node_modules/.vite/app.js"></script><script>console.log("app.js:12")</script><p>Sorry.',
    '<style>/* node_modules/x.css */</style><p>Not found',
    '<p>Get the list again. The connection was refused; please dial in later.',
    '<p>Error (502): the application API did not answer. Reference 0x7f3c.',
    '<p>TypeError and Exception are the names of two applications (2).',
  ])
    t.notOk(showsInside(answer(body)), body)
})

t.test('mayGoOnByScript finds scripts that could open another page, and ignores data blocks', async t => {
  const page = (body: string) =>
    ({ status: 200, headers: new Headers({ 'content-type': 'text/html' }), body, trail: [] }) as never
  t.ok(mayGoOnByScript(page('<script>location.href = "/next"</script>')))
  t.ok(mayGoOnByScript(page('<script src="/app.js"></script>')))
  t.notOk(mayGoOnByScript(page('<script type="application/ld+json">{"location":"x"}</script>')))
  t.notOk(mayGoOnByScript(page('<script>document.title = "x"</script>')))
})

t.test('the suite reads a page with very many elements, next to each other or nested', async t => {
  const count = 200_000
  for (const [how, body] of [
    ['next to each other', '<i>x</i>'.repeat(count)],
    ['nested', `${'<b>'.repeat(count)}x`],
  ] as const) {
    const page = createBrowser().show('http://localhost/', `<p>${body}<form><button>Go</button></form>`)
    t.equal(page.forms.length, 1, how)
  }
})
