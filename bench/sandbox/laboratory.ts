// Compares the portal's response times with and without the laboratory. When the laboratory is on, three of its pages
// are open. The bench also checks the budget. The bench measures the two servers alternately. --quick only checks that
// the bench works.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findFreePort } from '../../test/support/free-port.ts'
import { stopChild } from '../child.ts'
import { align, inTurn, middle, middleRatio, repeat, rounded } from '../numbers.ts'
import { type Server, startSandbox } from './servers.ts'

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } })
const size = options.quick ? { kept: 20, rounds: 2, exchanges: 10 } : { kept: 1_000, rounds: 20, exchanges: 100 }
/**
 * The limit for this ratio: the median response time with the laboratory, divided by the median without the laboratory.
 */
const budget = 1.5

const folder = await mkdtemp(join(tmpdir(), 'bench-laboratory-'))
const servers: Record<string, Server> = {}
/** The median response times in ms, one for each round. */
const medians: Record<string, number[]> = { off: [], on: [] }
let pageLoads = 0

try {
  const labPort = await findFreePort()
  servers.off = await startSandbox(join(folder, 'off.db'), 100, 'silent')
  servers.on = await startSandbox(join(folder, 'on.db'), 100, 'silent', { LAB_PORT: String(labPort) })
  for (const server of Object.values(servers)) {
    const codes = await server.issueCodes(size.kept)
    await repeat(codes.length, index => server.exchange(codes[index]!))
  }
  const pages = await Promise.all([1, 2, 3].map(() => openPage(`http://127.0.0.1:${labPort}`)))
  for (let round = 0; round < size.rounds; round++)
    for (const [name, server] of inTurn(Object.entries(servers), round)) medians[name]!.push(await medianOf(server))
  for (const page of pages) page.destroy()
} finally {
  await Promise.all(Object.values(servers).map(({ child }) => stopChild(child)))
  await rm(folder, { recursive: true })
}

const { off = [], on = [] } = medians
const ratio = middleRatio(on, off)
console.log(
  align([
    ['code exchange, one after the other', 'median'],
    ['laboratory off', `${rounded(middle(off))} ms`],
    ['on, three open pages', `${rounded(middle(on))} ms`],
  ]),
)
console.log(
  `With the laboratory, an exchange takes ${rounded(ratio)} times as long. The pages reloaded themselves ${pageLoads} times.`,
)
if (ratio > budget)
  console.log(`Over budget: ${rounded(ratio)} times the time without the laboratory. The limit is ${budget} times.`)
process.exitCode = options.quick || ratio <= budget ? 0 : 1

/** The exchanges run one after the other, so that no call waits for another one. */
async function medianOf(server: Server): Promise<number> {
  const codes = await server.issueCodes(size.exchanges)
  const times: number[] = []
  for (const code of codes) {
    const start = performance.now()
    await server.exchange(code)
    times.push(performance.now() - start)
  }
  return middle(times)
}

/**
 * Simulates a browser that shows the list of logins: it reloads the page after a change, with the same pauses as
 * live.js.
 */
async function openPage(labUrl: string) {
  const stream = get(`${labUrl}/live`)
  const [events] = await once(stream, 'response')
  let isWaiting = false
  events.on('data', async (piece: Buffer) => {
    if (isWaiting || !piece.includes('event: changes')) return
    isWaiting = true
    const began = performance.now()
    await (await fetch(labUrl)).text()
    pageLoads++
    setTimeout(
      () => {
        isWaiting = false
      },
      Math.max(1_000, 10 * (performance.now() - began)),
    ).unref()
  })
  return stream
}
