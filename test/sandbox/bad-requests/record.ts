// Records the answers to all bad requests again: `node test/sandbox/bad-requests/record.ts`. Afterwards read the diff
// of answers.json.
import { writeFileSync } from 'node:fs'
import { type Recorded, replayAll } from './replay.ts'

const teardowns: (() => unknown)[] = []
const answers = await replayAll({ teardown: (end: () => unknown) => teardowns.unshift(end) } as never)
for (const end of teardowns) await end()
const recorded = new Map<string, Recorded>()
for (const [name, answer] of Object.entries(answers)) {
  const key = `${name.split(':')[0]} ${JSON.stringify(answer)}`
  recorded.set(key, { ...answer, requests: [...(recorded.get(key)?.requests ?? []), name] })
}
const entries = [...recorded.values()].map(({ requests, ...answer }) => {
  const names = requests.map(name => `    ${JSON.stringify(name)}`).join(',\n')
  return `  ${JSON.stringify(answer).slice(0, -1)},"requests":[\n${names}]}`
})
writeFileSync(new URL('./answers.json', import.meta.url), `[\n${entries.join(',\n')}\n]\n`)
