// `node test/journey/verdicts.ts`: what the suite says of the clients of this repository that are not the reference client,
// as the table in docs/conformance.md.
import type { Server } from 'node:http'
import { checks } from '../../src/conformance/checks.ts'
import { buildFaultyClient } from '../conformance/clients/faulty-client.ts'
import { buildOtherClient, otherClientOptions } from '../conformance/clients/other-client.ts'
import type { Settings } from '../conformance/clients/visit.ts'
import { openStage } from '../conformance/support/stage.ts'
import { fortyLineClient } from './support/forty-line-client.ts'

type Client = [name: string, build: (settings: Settings) => Server, options: string[]]

const fortyLines = ({ publicUrl, apiUrl, ...rest }: Settings) =>
  fortyLineClient({ ...rest, baseUrl: apiUrl, ownUrl: publicUrl })
const hasNoPages = ['--page', '', '--create', '', '--logout', '', '--return-to', '']
const clients: Client[] = [
  ['Sealed cookies on `node:http` (`test/conformance/clients/client.ts`)', buildFaultyClient, []],
  ['Sessions in memory, JSON pages (`test/conformance/clients/other-client.ts`)', buildOtherClient, otherClientOptions],
  ['Forty lines from the text (`test/journey/support/forty-line-client.ts`)', fortyLines, hasNoPages],
]

const print = (line: string) => void process.stdout.write(`${line}\n`)
print(
  '| Client | Passed | Failed | Warned | Not applicable | Undecided | What fails, by group |\n|---|---|---|---|---|---|---|',
)
for (const [name, build, options] of clients) {
  const stage = await openStage(options, { hasReplica: options.length === 0 })
  const results = await stage.judge(build, checks)
  await stage.close()
  const count = (verdict: string) => results.filter(result => result.verdict === verdict).length
  const counts = ['passed', 'failed', 'warned', 'not applicable', 'undecided'].map(count)
  const failed = Map.groupBy(
    results.filter(({ verdict }) => verdict === 'failed'),
    ({ group }) => group,
  )
  const told = [...failed].map(([group, members]) => `${group}: ${members.map(({ id }) => `\`${id}\``).join(', ')}`)
  print(`| ${[name, ...counts, told.join('; ') || 'nothing'].join(' | ')} |`)
}
