// Compares the sandbox with two servers from npm. Also compares a store of 100 applications with a store of 1,000,000.
// Checks the budgets. The bench measures every server in each round. --quick only checks that the bench works.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findFreePort } from '../../test/support/free-port.ts'
import { costOf, stopChild } from '../child.ts'
import { align, inTurn, middle, middleRatio, repeat, rounded } from '../numbers.ts'
import { atOnce, type Server, startMockServer, startOidcProvider, startSandbox } from './servers.ts'

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } })
// The store of oidc-provider has room for 1,000 entries, and an exchange needs up to four of them. With more codes at
// the same time, the store would drop entries.
const size = options.quick
  ? { warmUps: 1, rounds: 2, exchanges: 50, reads: 50, few: 100, many: 10_000 }
  : { warmUps: 10, rounds: 15, exchanges: 200, reads: 400, few: 100, many: 1_000_000 }
/**
 * The limits of these ratios:
 *
 * - `accessToken` and `idToken`: the exchanges of our portal per CPU second, divided by the exchanges of oidc-provider;
 * - `list`: the time of a list in the large store, divided by the time of a list in the small store;
 * - `laboratory`: the CPU time with the laboratory, divided by the CPU time without it.
 */
const budgets = { accessToken: 2, idToken: 2, list: 1.25, laboratory: 1.5 }
const sandbox = 'sandbox'
const peers = {
  accessToken: 'oidc-provider, JWT access token',
  idToken: 'oidc-provider, ID token',
  mock: 'oauth2-mock-server',
}
const sandboxWithLog = 'sandbox with its log'
const sandboxWithLab = 'sandbox with its laboratory'
const measures = ['exchange', 'read'] as const

const folder = await mkdtemp(join(tmpdir(), 'bench-sandbox-'))
const servers: Record<string, Server> = {}
/** One number for each round. The key names the server and the measurement. */
const samples = new Map<string, number[]>()

try {
  servers[sandbox] = await startSandbox(join(folder, 'small.db'), size.few, 'silent')
  servers[sandboxWithLog] = await startSandbox(join(folder, 'logged.db'), size.few, 'info')
  const labPort = String(await findFreePort())
  servers[sandboxWithLab] = await startSandbox(join(folder, 'lab.db'), size.few, 'silent', { LAB_PORT: labPort })
  servers[peers.accessToken] = await startOidcProvider('applications')
  servers[peers.idToken] = await startOidcProvider('openid')
  servers[peers.mock] = await startMockServer()
  const exchanging = Object.entries(servers)
  console.log(`Filling a store with ${size.many.toLocaleString('en')} applications …`)
  servers.large = await startSandbox(join(folder, 'large.db'), size.many, 'silent')
  const stores: [string, Server][] = [
    ['small', servers[sandbox]],
    ['large', servers.large],
  ]
  for (let round = -size.warmUps; round < size.rounds; round++) {
    for (const [name, server] of inTurn(exchanging, round)) await measureWork(name, server, round)
    for (const [name, server] of inTurn(stores, round)) await measureList(name, server, round)
  }
} finally {
  await Promise.all(Object.values(servers).map(({ child }) => stopChild(child)))
  await rm(folder, { recursive: true })
}

const others = [sandboxWithLog, sandboxWithLab, ...Object.values(peers)]
console.log(
  align([
    ['median of rounds', 'code exchange', 'call with a token'],
    [sandbox, ...measures.map(measure => `${rounded(middle(of(sandbox, measure)))} µs CPU`)],
    ...others.map(name => [name, ...measures.map(measure => `${rounded(timesOurs(name, measure))} times that`)]),
  ]),
)
console.log(
  'All tokens are signed with ES256. The call gets a list of 20 applications from the sandbox, and /userinfo from the other servers.\n',
)
console.log(`List of 20 in a store of ${size.few}: ${rounded(middle(of('small', 'list')))} ms.`)
const timeInLargeStore = middleRatio(of('large', 'list'), of('small', 'list'))
console.log(`In a store of ${size.many.toLocaleString('en')}: ${rounded(timeInLargeStore)} times that.`)

const overBudget = [
  ...(['accessToken', 'idToken'] as const).map(peer => {
    const ratio = timesOurs(peers[peer], 'exchange')
    return (
      ratio < budgets[peer] &&
      `only ${rounded(ratio)} times the exchanges of ${peers[peer]}, but the limit is ${budgets[peer]}`
    )
  }),
  ...measures.map(measure => {
    const ratio = timesOurs(sandboxWithLab, measure)
    return (
      ratio > budgets.laboratory &&
      `${rounded(ratio)} times the CPU time of ${measure} with the laboratory, but the limit is ${budgets.laboratory}`
    )
  }),
  timeInLargeStore > budgets.list &&
    `the list in the large store takes ${rounded(timeInLargeStore)} times as long, but the limit is ${budgets.list}`,
].filter(Boolean)
for (const line of overBudget) console.log(`Over budget: ${line}`)
process.exitCode = options.quick || overBudget.length === 0 ? 0 : 1

function timesOurs(name: string, measure: 'exchange' | 'read'): number {
  return middleRatio(of(name, measure), of(sandbox, measure))
}

/** Rounds with a negative number only warm up the servers. */
async function measureWork(name: string, server: Server, round: number): Promise<void> {
  const codes = await server.issueCodes(size.exchanges)
  const exchanged = await costOf(server.child, () =>
    repeat(codes.length, index => server.exchange(codes[index]!), atOnce),
  )
  const read = await costOf(server.child, () => repeat(size.reads, () => server.read()))
  if (round < 0) return
  of(name, 'exchange').push(exchanged.cpuMicroseconds / size.exchanges)
  of(name, 'read').push(read.cpuMicroseconds / size.reads)
}

/** The calls run one after the other, so that no call waits for another call. */
async function measureList(name: string, server: Server, round: number): Promise<void> {
  const { milliseconds } = await costOf(server.child, () => repeat(size.reads, () => server.read(), 1))
  if (round >= 0) of(name, 'list').push(milliseconds / size.reads)
}

function of(name: string, measure: 'exchange' | 'read' | 'list'): number[] {
  const key = `${name} ${measure}`
  if (!samples.has(key)) samples.set(key, [])
  return samples.get(key)!
}
