// Tests how many functions the suite runs at the same time, and when a waiting function frees its slot.
import t from 'tap'
import { createLimiter } from '../../src/conformance/limiter.ts'

t.test('the number of functions that run at the same time never exceeds the number of slots', async t => {
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
  t.equal(running, 0, 'a function that failed does not hold a slot')
})

t.test(
  'while a function pauses, another function can use its slot; after the pause, the first function gets a slot before a new function begins',
  async t => {
    const { runInSlot } = createLimiter(1)
    const heard: string[] = []
    const say = (word: string) => void heard.push(word)
    let end = () => {}
    const second = new Promise<void>(resolve => {
      end = resolve
    })
    await Promise.all([
      runInSlot(async ({ pause }) => {
        say('the first begins')
        // This pause is over while the second function still runs.
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
  },
)

t.test(
  'a function that waits for a long time frees its slot, and continues as soon as its promise resolves',
  async t => {
    const { runInSlot } = createLimiter(1)
    const heard: string[] = []
    let answer = () => {}
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    await Promise.all([
      // This function waits for three promises at once, but frees its slot only once.
      runInSlot(async ({ waitFor }) => {
        await Promise.all([waitFor(answered), waitFor(answered), waitFor(Promise.resolve())])
        heard.push('the first goes on')
      }),
      runInSlot(async () => {
        heard.push('the second begins')
        answer()
        await new Promise(resolve => setTimeout(resolve, 50))
        heard.push('the second ends')
      }),
      runInSlot(async () => heard.push('the third begins')),
    ])
    t.same(heard, ['the second begins', 'the first goes on', 'the second ends', 'the third begins'])
  },
)

t.test('a function that waits for a promise can set the time after which its slot becomes free', async t => {
  const { runInSlot } = createLimiter(1)
  const heard: string[] = []
  await Promise.all([
    runInSlot(async ({ waitFor }) => {
      // This function waits for 150 ms. Without the argument 20, its slot would become free only after the usual 300
      // ms.
      await waitFor(new Promise(resolve => setTimeout(resolve, 150)), 20)
      heard.push('the first ends')
    }),
    runInSlot(async () => heard.push('the second ends')),
  ])
  t.same(heard, ['the second ends', 'the first ends'])
})

t.test('if a function ends while one of its promises is pending, the limit stays the same', async t => {
  const { runInSlot } = createLimiter(1)
  let answer = () => {}
  let pending: Promise<void> | undefined
  await runInSlot(async ({ waitFor }) => {
    pending = waitFor(
      new Promise<void>(resolve => {
        answer = resolve
      }),
    )
    await new Promise(resolve => setTimeout(resolve, 400))
  })
  answer()
  await pending
  let [running, most] = [0, 0]
  const one = () =>
    runInSlot(async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
    })
  await Promise.all([one(), one(), one()])
  t.equal(most, 1)
})

t.test(
  'if the number of functions that have begun reaches the limit, the next function begins only after one of them has ended',
  async t => {
    const { runInSlot } = createLimiter(1, 2)
    let [begun, most] = [0, 0]
    const one = () =>
      runInSlot(async ({ pause }) => {
        most = Math.max(most, ++begun)
        await pause(5)
        begun--
      })
    await Promise.all([one(), one(), one(), one()])
    t.equal(most, 2)
  },
)
