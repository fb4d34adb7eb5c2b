// Compares our client with a bare server and with three servers that use libraries, and checks the budgets of our
// client. The bench measures every server in each round.
// --quick only checks that the bench works.
// --no-peers leaves out the servers that use libraries.
// --warm-ups 500 warms up with 500 requests of each kind instead of 5,000.
import { randomBytes } from 'node:crypto'
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { costOf, stopChild } from '../child.ts'
import { inTurn, middle, percentile } from '../numbers.ts'
import { Results } from './results.ts'
import { fillCompileCache, type ServerName, serverNames, startPlatform, startServer, timeStartUp } from './server.ts'
import { createVisitors } from './visitors.ts'

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, 'no-peers': { type: 'boolean' }, 'warm-ups': { type: 'string' } },
})
const size = options.quick
  ? { warmUps: 40, rounds: 2, logins: 40, lists: 40, longLists: 4, steadyRounds: 1, steadySeconds: 0.3, startUps: 1 }
  : { warmUps: 5000, rounds: 7, logins: 800, lists: 800, longLists: 80, steadyRounds: 5, steadySeconds: 1, startUps: 7 }
const warmUps = Number(options['warm-ups'] ?? size.warmUps)
const judged: ServerName[] = ['client', 'bare']
const names = options['no-peers'] ? judged : serverNames

type Measurable = Awaited<ReturnType<typeof prepare>>

const platform = await startPlatform()
const clientId = '3f1c9a52-6d0e-4f7b-8a57-1d2b3c4d5e6f'
const environment = {
  HOST: '127.0.0.1',
  PORT: '0',
  PUBLIC_URL: 'http://localhost:3000',
  LOGIN_URL: platform.url,
  API_URL: platform.url,
  CLIENT_ID: clientId,
  CLIENT_SECRET: randomBytes(32).toString('base64url'),
  COOKIE_KEYS: randomBytes(32).toString('base64url'),
}
const results = new Results()
const all = new Map<ServerName, Measurable>()
/** How many lists of 20 applications the bare server sent per second in each round. */
const rates: number[] = []

try {
  for (const name of names) all.set(name, await prepare(name))
  for (const name of names) await warmUp(name)
  await inTurns(names, size.rounds, measureWork)
  await inTurns(judged, size.steadyRounds, measureLatency)
  await Promise.all([...all.values()].map(({ visitors }) => visitors.close()))
  await fillCompileCache(environment)
  await inTurns(names, size.startUps, async name =>
    results.add(name, { startUp: await timeStartUp(name, environment) }),
  )
} finally {
  await Promise.all([...all.values()].map(({ server }) => stopChild(server.child)))
  await stopChild(platform.child)
}

console.log(results.table(names))
if (loadavg()[0]! > availableParallelism() + 2)
  console.log(
    '\nThe machine is busy with other work. So do not rely on the results for latency and start-up. CPU time is a little more reliable.',
  )
const tooMuch = results.overBudget()
for (const line of tooMuch) console.log(`Over budget: ${line}`)
process.exitCode = options.quick || tooMuch.length === 0 ? 0 : 1

/** Signs two visitors in: one visitor with 20 applications, and one with 2,000. */
async function prepare(name: ServerName) {
  const server = await startServer(name, environment)
  const visitors = createVisitors(server.url, { clientId, portalUrl: platform.url })
  const signIn = async (listSize: number) => {
    const [session] = await visitors.finishLogins(await visitors.beginLogins(1, listSize))
    return session!
  }
  const [session, longSession] = [await signIn(20), await signIn(2000)]
  const { memoryMiB } = await costOf(server.child, () => visitors.readLists(1, session))
  results.add(name, { memory: memoryMiB })
  return { server, visitors, session, longSession }
}

/** Warms up a server, because Node optimizes code only after the code has run many times. */
async function warmUp(name: ServerName): Promise<void> {
  const { visitors, session, longSession } = all.get(name)!
  await visitors.finishLogins(await visitors.beginLogins(warmUps, 20))
  await visitors.readLists(warmUps, session)
  // A long list takes a hundred times as long as a short list, so a tenth of the requests is enough.
  await visitors.readLists(warmUps / 10, longSession)
}

async function inTurns(names: ServerName[], rounds: number, work: (name: ServerName) => Promise<void>): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const name of inTurn(names, round)) await work(name)
  }
}

async function measureWork(name: ServerName): Promise<void> {
  const { server, visitors, session, longSession } = all.get(name)!
  const begun = await costOf(server.child, () => visitors.beginLogins(size.logins, 20))
  const finished = await costOf(server.child, () => visitors.finishLogins(begun.result))
  const list = await costOf(server.child, () => visitors.readLists(size.lists, session))
  const longList = await costOf(server.child, () => visitors.readLists(size.longLists, longSession))
  if (name === 'bare') rates.push((size.lists / list.milliseconds) * 1000)
  results.add(name, {
    redirect: begun.cpuMicroseconds / size.logins,
    callback: finished.cpuMicroseconds / size.logins,
    signIn: (begun.cpuMicroseconds + finished.cpuMicroseconds) / size.logins,
    list: list.cpuMicroseconds / size.lists,
    longList: longList.cpuMicroseconds / size.longLists,
  })
}

async function measureLatency(name: ServerName): Promise<void> {
  const { visitors, session } = all.get(name)!
  const times = await visitors.readListsSteadily(middle(rates) / 2, size.steadySeconds, session)
  results.add(name, { p99: percentile(times, 0.99) })
}
