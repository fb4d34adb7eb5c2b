// ExpiringMap forgets entries when they expire or when there are too many. shareWork starts a piece of work once for
// all callers that ask at the same time.
import t from 'tap'
import { ExpiringMap, shareWork } from '../../src/client/expiring-map.ts'
import { TestClock } from './support/build-test-client.ts'

const maxEntries = 10_000
const minute = 60_000

function createMap<V>() {
  const clock = new TestClock()
  return { clock, map: new ExpiringMap<V>(clock.read) }
}

/** Creates work that runs until the test ends it. `timesStarted` returns how many times the work was started. */
function createWork() {
  let timesStarted = 0
  const runs: PromiseWithResolvers<string>[] = []
  const work = () => {
    timesStarted++
    const run = Promise.withResolvers<string>()
    runs.push(run)
    return run.promise
  }
  return { work, runs, timesStarted: () => timesStarted }
}

t.test('the map returns an entry until the lifetime of the entry is over', async t => {
  const { map, clock } = createMap<string>()
  map.set('key', 'value', minute)
  t.equal(map.get('key'), 'value')
  t.equal(map.get('other key'), undefined)
  clock.advance(59)
  t.equal(map.get('key'), 'value')
  clock.advance(1)
  t.equal(map.get('key'), undefined)
})

t.test('an entry that is set again has the new value and the new lifetime', async t => {
  const { map, clock } = createMap<string>()
  map.set('key', 'old', minute)
  clock.advance(50)
  map.set('key', 'new', minute)
  clock.advance(50)
  t.equal(map.get('key'), 'new')
})

t.test('a deleted entry is not found', async t => {
  const { map } = createMap<string>()
  map.set('key', 'value', minute)
  map.delete('key')
  t.equal(map.get('key'), undefined)
})

t.test('if the clock is set back, entries expire immediately instead of living too long', async t => {
  const { map, clock } = createMap<string>()
  map.set('key', 'value', minute)
  map.set('forever', 'value', Number.POSITIVE_INFINITY)
  clock.advance(-3_600)
  t.equal(map.get('key'), undefined)
  t.equal(map.get('forever'), 'value', 'only the entry without an expiry must stay')
  map.set('set afterwards', 'value', minute)
  t.equal(map.get('set afterwards'), 'value')
})

t.test('expired entries are removed when another entry is set', async t => {
  const { map, clock } = createMap<number>()
  for (let key = 0; key < 100; key++) map.set(`${key}`, key, minute)
  clock.advance(120)
  map.set('another', 0, minute)
  // At this time the entries would be valid again if the map still had them.
  clock.advance(-90)
  for (let key = 0; key < 100; key++) t.equal(map.get(`${key}`), undefined)
})

t.test('a full map removes only its oldest entry', async t => {
  const { map } = createMap<number>()
  for (let key = 0; key < maxEntries; key++) map.set(`${key}`, key, Number.POSITIVE_INFINITY)
  t.equal(map.get('0'), 0, 'the map must have room for all entries')
  map.set('another', 0, minute)
  t.equal(map.get('0'), undefined)
  t.equal(map.get('1'), 1)
  map.set('2', 2, minute)
  t.equal(map.get('1'), 1, 'an entry that is set again must not need more room')
  map.set('one more', 0, minute)
  t.equal(map.get('1'), undefined)
  map.set('and one more', 0, minute)
  t.equal(map.get('2'), 2, 'an entry that is set again must become the newest')
  t.equal(map.get('3'), undefined)
  t.equal(map.get('4'), 4)
})

t.test('callers share work that is still running, even if it takes long or the clock is changed', async t => {
  const { map, clock } = createMap<Promise<string>>()
  const { work, runs, timesStarted } = createWork()
  const share = () => shareWork(map, 'key', minute, work)
  const results = [share()]
  clock.advance(3_600)
  results.push(share())
  clock.advance(-7_200)
  results.push(share())
  t.equal(timesStarted(), 1)
  const other = shareWork(map, 'other key', minute, work)
  t.equal(timesStarted(), 2, 'another key must start its own work')
  runs[0]!.resolve('done')
  runs[1]!.resolve('other')
  t.same(await Promise.all(results), ['done', 'done', 'done'])
  t.equal(await other, 'other')
})

t.test('callers share a result for some time after the work has succeeded', async t => {
  const { map, clock } = createMap<Promise<string>>()
  const { work, runs, timesStarted } = createWork()
  const share = () => shareWork(map, 'key', minute, work)
  const first = share()
  clock.advance(50)
  runs[0]!.resolve('first')
  await first
  clock.advance(59)
  t.equal(await share(), 'first')
  clock.advance(1)
  const second = share()
  t.equal(timesStarted(), 2)
  runs[1]!.resolve('second')
  t.equal(await second, 'second')
})

t.test('all callers that wait for the same work share its failure, and the failure is not kept', async t => {
  const { map } = createMap<Promise<string>>()
  const { work, runs, timesStarted } = createWork()
  const share = () => shareWork(map, 'key', minute, work)
  const waiting = [share(), share()]
  runs[0]!.reject(new Error('out of order'))
  for (const one of waiting) await t.rejects(one, { message: 'out of order' })
  t.equal(timesStarted(), 1)
  const next = share()
  t.equal(timesStarted(), 2)
  runs[1]!.resolve('works again')
  t.equal(await next, 'works again')
})

t.test(
  'while thirty thousand pieces of work run, and after they have ended, the map has at most ten thousand entries',
  async t => {
    const { map } = createMap<Promise<void>>()
    const gate = Promise.withResolvers<void>()
    const keys = Array.from({ length: 3 * maxEntries }, (_, index) => `${index}`)
    const all = keys.map(key => shareWork(map, key, minute, () => gate.promise))
    const count = () => keys.filter(key => map.get(key)).length
    t.equal(count(), maxEntries)
    gate.resolve()
    await Promise.all(all)
    t.equal(count(), maxEntries)
  },
)
