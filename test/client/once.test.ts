// Doing a thing once, in a memory that is bounded. What it is for: test/client/sign-in/resent-callback.test.ts.
import t from 'tap'
import { Once } from '../../src/client/once.ts'
import { TestClock } from './support/build-test-client.ts'

const mostKept = 10_000

t.test('of ten thousand things and one more the oldest is forgotten, and can be done again', async t => {
  const once = new Once<number>(new TestClock().read, { shareMs: 60_000 })
  let done = 0
  const work = async () => ++done
  for (let key = 0; key < mostKept; key++) await once.do(`${key}`, work)
  t.ok(once.has('0'), 'so many are kept')
  await once.do('one more', work)
  t.notOk(once.has('0'))
  t.ok(once.has('1'), 'and no more than needed are forgotten')
  t.equal(await once.do('1', work), 2, 'with its answer')
  t.equal(await once.do('0', work), mostKept + 2)
})

t.test('a flood of things leaves ten thousand in memory, also while none of them has ended', async t => {
  const once = new Once<void>(new TestClock().read, { shareMs: 60_000 })
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  const keys = Array.from({ length: 3 * mostKept }, (_, index) => `${index}`)
  const all = keys.map(key => once.do(key, () => mayEnd))
  t.equal(keys.filter(key => once.has(key)).length, mostKept)
  end()
  await Promise.all(all)
  t.equal(keys.filter(key => once.has(key)).length, mostKept)
})
