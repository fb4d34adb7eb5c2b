import t from 'tap'
import { createLimiter } from '../../src/conformance/limiter.ts'

t.test('no more run at a time than there are slots', async t => {
  const { runInSlot } = createLimiter(2)
  let running = 0
  let most = 0
  const one = () =>
    runInSlot(async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
    })
  await Promise.all([one(), one(), one(), one(), one()])
  t.equal(most, 2)
  await t.rejects(
    runInSlot(async () => {
      throw new Error('it went wrong')
    }),
    /it went wrong/,
  )
  await runInSlot(() => one())
  t.equal(running, 0, 'a function that failed holds no slot')
})

t.test('a pause gives the slot to another, and gets one again before the next begins', async t => {
  const { runInSlot, pause } = createLimiter(1)
  const heard: string[] = []
  const say = (word: string) => void heard.push(word)
  let end = () => {}
  const second = new Promise<void>(resolve => {
    end = resolve
  })
  await Promise.all([
    runInSlot(async () => {
      say('the first begins')
      // Over while the second still runs.
      await pause(1).finally(() => say('the first goes on'))
    }),
    runInSlot(async () => {
      say('the second begins')
      setTimeout(end, 50)
      await second
      say('the second ends')
    }),
    runInSlot(async () => say('the third begins')),
  ])
  t.same(heard, ['the first begins', 'the second begins', 'the second ends', 'the first goes on', 'the third begins'])
})
