// Tests the map that forgets its oldest entry when it is full.
import t from 'tap'
import { BoundedMap } from '../../../src/sandbox/values/bounded-map.ts'

t.test('a full map forgets its oldest entry', async t => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2)
  t.same([...map.keys()], ['a', 'b'])
  map.set('c', 3)
  t.same(
    [...map.entries()],
    [
      ['b', 2],
      ['c', 3],
    ],
  )
})

t.test('if a key is set again, its entry counts as new, and no other entry is forgotten', async t => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3)
  t.same(
    [...map.entries()],
    [
      ['b', 2],
      ['a', 3],
    ],
  )
  t.same([...map.set('c', 4).keys()], ['a', 'c'])
})
