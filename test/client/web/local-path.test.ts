// localPath accepts only paths that stay on this site.
import t from 'tap'
import { localPath } from '../../../src/client/web/security.ts'
import { leaving, leavingLater, staying } from '../support/redirect-vectors.ts'

const here = 'http://localhost:3000'

for (const path of [
  '/',
  '/notes',
  '/notes/new',
  '/notes?q=a%20b&page=2',
  '/a-b_c.d~e/!$&()*+,;=:@',
  '/search?next=//evil.test/',
]) {
  t.test(`localPath returns a path of this site unchanged: ${path}`, async t => {
    t.equal(localPath(path), path)
  })
}

for (const value of [...leaving, ...leavingLater]) {
  t.test(`CL-25: localPath does not accept ${JSON.stringify(value)}`, async t => {
    t.equal(localPath(value), undefined)
  })
}

for (const value of staying) {
  t.test(`CL-25: localPath refuses ${JSON.stringify(value)}, or returns a path of this site`, async t => {
    const path = localPath(value)
    if (path === undefined) return t.pass('not taken')
    t.equal(new URL(path, here).origin, here)
    t.match(path, /^\/(?!\/)/)
  })
}

t.test('CL-25: if localPath gets a path that it has returned before, it returns the same path', async t => {
  for (const value of ['/a/../b', '/./a', '/a/%2e%2e//b', '/"', "/'<>", '/a?b#c', ...staying]) {
    const path = localPath(value)
    if (path !== undefined) t.equal(localPath(path), path, value)
  }
})

t.test(
  'localPath leaves out the fragment of an address, because browsers never send a fragment to a server',
  async t => {
    t.equal(localPath('/notes#end'), '/notes')
  },
)

t.test('localPath accepts only strings', async t => {
  for (const value of [undefined, null, '', 7, ['/notes'], { path: '/' }]) t.equal(localPath(value), undefined)
})

t.test('localPath accepts a path of at most 200 characters', async t => {
  t.equal(localPath('/'.padEnd(200, 'a'))?.length, 200)
  t.equal(localPath('/'.padEnd(201, 'a')), undefined)
})

t.test('localPath accepts only printable ASCII characters', async t => {
  for (let code = 0; code <= 0x100; code++) {
    if (code > 0x20 && code < 0x7f && code !== 0x5c) continue
    t.equal(localPath(`/a${String.fromCharCode(code)}b`), undefined, `character ${code}`)
  }
})
