// Writes docs/faults.md, the faults of the laboratory: `node scripts/fault-catalogue.ts`.
import { writeFileSync } from 'node:fs'
import { catalogue, mishapsOf } from '../src/sandbox/lab/faults/catalogue.ts'
import type { Mishap } from '../src/sandbox/lab/faults/mishap.ts'
import { type Place, type PlaceWords, places } from '../src/sandbox/lab/faults/places.ts'

const all = Object.keys(places) as Place[]
const calls = all.filter(place => place !== 'redirect')
const writes = calls.filter(place => places[place].isWrite)

/** What a reader need not be told one by one. */
const groups: [words: string, of: readonly Place[]][] = [
  ['each call', calls],
  ['the portal’s calls', calls.filter(place => places[place].listener === 'portal')],
  ['the API’s calls', calls.filter(place => places[place].listener === 'api')],
]

/** What whoever has just got a client to sign in should see it bear. */
const firstOnes: [question: string, faults: string[]][] = [
  ['says so when the portal is away, and signs in when it is back', ['exchange-503', 'exchange-reset']],
  ['gives up in time', ['exchange-never', 'list-drip']],
  ['refuses an answer for another login', ['redirect-state-other', 'exchange-state-other']],
  ['follows no redirect with its secret', ['exchange-redirect-307', 'api-redirect-302']],
  ['keeps people signed in when a renewal fails for now', ['refresh-503', 'refresh-html']],
  ['renews once, and does not go round in circles, when a token is refused', ['list-401']],
  ['creates nothing twice when an answer is lost', ['create-reset-after']],
  ['shows what others typed as text', ['list-hostile-texts', 'redirect-hostile-description']],
]

export function writeCatalogue(): string {
  return `# The faults of the laboratory

Made from the catalogue by \`node scripts/fault-catalogue.ts\`. [The laboratory](laboratory.md#faults) says how one orders them.
A fault is a place and what goes wrong there, with a hyphen between: \`exchange-503\`. There are ${catalogue.size}.

## Where to begin

| To see whether your client | order |
|---|---|
${firstOnes.map(([question, faults]) => toRow([question, faults.map(known).join(', ')])).join('\n')}

## Places

| Place | In answer to | Call |
|---|---|---|
${all.map(placeRow).join('\n')}

## What goes wrong

Where it says *before or after*, calls that change something have both: \`create-reset\` happens before the platform has acted, and
\`create-reset-after\` when the application is there. Such calls are ${writes.map(code).join(', ')}. Reading calls have the first alone.

| Mishap | At | What the client sees | The platform has acted | Options |
|---|---|---|---|---|
${mishapRows().join('\n')}

## Options

An option that is left out is as the last column says.

| Option | Of | What it says | It is | Left out |
|---|---|---|---|---|
${optionRows().join('\n')}
`
}

/** Throws for a name that is no fault. */
function known(name: string): string {
  if (!catalogue.has(name)) throw new Error(`There is no fault ${name}.`)
  return code(name)
}

function placeRow(place: Place): string {
  const { about, route = '' }: PlaceWords = places[place]
  return `| ${code(place)} | ${about} | ${route && code(route)} |`
}

/** One for each mishap, wherever it happens. */
function mishapRows(): string[] {
  const at = new Map<string, { mishap: Mishap; where: Place[] }>()
  for (const place of all)
    for (const [name, mishap] of Object.entries(mishapsOf(place))) {
      const key = `${name} ${mishap.does}`
      at.set(key, { mishap: at.get(key)?.mishap ?? mishap, where: [...(at.get(key)?.where ?? []), place] })
    }
  return [...at].map(([key, { mishap, where }]) => {
    const options = Object.keys(mishap.options ?? {}).map(code)
    return toRow([code(key.split(' ')[0]!), whereOf(where), mishap.does, mishap.acted.join(' or '), options.join(', ')])
  })
}

/** One for each option; that of several mishaps, such as all statuses, is told once. */
function optionRows(): string[] {
  const rows = new Map<string, { cells: string[]; of: Set<string> }>()
  for (const place of all)
    for (const [mishap, { options = {} }] of Object.entries(mishapsOf(place)))
      for (const [name, { about, allowed, default: usual }] of Object.entries(options)) {
        const key = `${name} ${about}`
        const row = rows.get(key) ?? {
          cells: [about, allowed, usual === undefined ? '' : code(JSON.stringify(usual))],
          of: new Set(),
        }
        rows.set(key, { ...row, of: row.of.add(/^\d+$/.test(mishap) ? 'statuses' : code(mishap)) })
      }
  return [...rows].map(([key, { cells, of }]) => toRow([code(key.split(' ')[0]!), [...of].join(', '), ...cells]))
}

function toRow(cells: string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function whereOf(where: Place[]): string {
  return groups.find(([, of]) => of.join() === where.join())?.[0] ?? where.map(code).join(', ')
}

function code(text: string): string {
  return `\`${text}\``
}

if (import.meta.main) writeFileSync('docs/faults.md', writeCatalogue())
