import t from 'tap'
import { createPlaces } from '../../src/conformance/places.ts'

t.test('no more run at a time than there are places', async t => {
  const { taking } = createPlaces(2)
  let running = 0
  let most = 0
  const one = () =>
    taking(async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
    })
  await Promise.all([one(), one(), one(), one(), one()])
  t.equal(most, 2)
  await t.rejects(
    taking(async () => {
      throw new Error('it went wrong')
    }),
    /it went wrong/,
  )
  await taking(() => one())
  t.equal(running, 0, 'who has failed holds no place')
})

t.test('who lets time pass gives its place to another, and has it again before the next', async t => {
  const { taking, pause } = createPlaces(1)
  const heard: string[] = []
  const say = (word: string) => void heard.push(word)
  let end = () => {}
  const second = new Promise<void>(resolve => {
    end = resolve
  })
  await Promise.all([
    taking(async () => {
      say('the first begins')
      // Over while the second still runs.
      await pause(1).finally(() => say('the first goes on'))
    }),
    taking(async () => {
      say('the second begins')
      setTimeout(end, 50)
      await second
      say('the second ends')
    }),
    taking(async () => say('the third begins')),
  ])
  t.same(heard, ['the first begins', 'the second begins', 'the second ends', 'the first goes on', 'the third begins'])
})
