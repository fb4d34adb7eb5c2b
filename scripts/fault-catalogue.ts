// Makes docs/faults.md, which lists the faults of the laboratory.
import { catalogue, type Fault, kindsAt, presetsOf } from '../src/sandbox/lab/faults/catalogue.ts'
import type { Kind } from '../src/sandbox/lab/faults/kind.ts'
import { type Place, type PlaceWords, places } from '../src/sandbox/lab/faults/places.ts'
import { code, toRow } from './markdown.ts'

const all = Object.keys(places) as Place[]
const calls = all.filter(place => place !== 'redirect')
const writes = calls.filter(place => places[place].isWrite)

/** The words that the tables use for a group of places. */
const groups: [words: string, of: readonly Place[]][] = [
  ['each call', calls],
  ['the portal’s calls', calls.filter(place => places[place].listener === 'portal')],
  ['the API’s calls', calls.filter(place => places[place].listener === 'api')],
]

/** The faults that a developer tries first, after the first successful login of a client. */
const firstOnes: [question: string, faults: string[]][] = [
  [
    'shows an error while the portal is down, and signs in when the portal works again',
    ['exchange-503', 'exchange-reset'],
  ],
  ['stops waiting after a reasonable time', ['exchange-never', 'list-drip']],
  ['refuses an answer for another login', ['redirect-state-other', 'exchange-state-other']],
  ['does not send its secret to the target of a redirect', ['exchange-redirect-307', 'api-redirect-302']],
  ['keeps people signed in when a renewal fails for a short time', ['refresh-503', 'refresh-html']],
  ['renews once when a token is refused, and does not renew again and again', ['list-401']],
  ['does not create an application twice when the answer is lost', ['create-reset-after']],
  ['shows text from other people as text, not as markup', ['list-hostile-texts', 'redirect-hostile-description']],
]

export function writeCatalogue(): string {
  return `# The faults of the laboratory

\`npm run docs\` makes this page. [The laboratory](laboratory.md#faults) says how to order a fault.
A fault has a place, a kind, a time (before or after the platform has acted) and options. The name of a fault is the place, a hyphen
and the kind, for example \`exchange-reset\`. Some kinds have short names with fixed options: \`exchange-503\` is the kind \`status\` at
\`exchange\` with \`{"status":503}\`. There are ${catalogue.size} names.

## Where to begin

| To find out whether your client | order this fault |
|---|---|
${firstOnes.map(([question, faults]) => toRow([question, faults.map(known).join(', ')])).join('\n')}

## Places

| Place | In answer to | Call |
|---|---|---|
${all.map(placeRow).join('\n')}

## Kinds

If the column *When* says *before or after*, there are two faults for each call that changes something. For example, \`create-reset\` happens before the platform
has created the application, and \`create-reset-after\` happens after that. The calls that change something are ${writes.map(code).join(', ')}. For a
call that only reads data, there is one fault, and it happens at the time that *When* names first.

| Kind or short name | Short for | At | What the client sees | When | Options |
|---|---|---|---|---|---|
${kindRows().join('\n')}

## Options

If you leave out an option, it has the default value in the last column. Some options exist only at some of the places of a
kind. The laboratory’s faults page shows the options of each fault.

| Option | Kinds | Meaning | Allowed | Default |
|---|---|---|---|---|
${optionRows().join('\n')}
`
}

/** Throws an error if no fault has this name. */
function known(name: string): string {
  if (!catalogue.has(name)) throw new Error(`There is no fault ${name}.`)
  return code(name)
}

function placeRow(place: Place): string {
  const { about, route = '' }: PlaceWords = places[place]
  return `| ${code(place)} | ${about} | ${route && code(route)} |`
}

/** Returns one table row for each kind or short name, with all places at which it can happen. */
function kindRows(): string[] {
  const rows = new Map<string, { name: string; fault: Fault; kind: Kind; at: Place[]; options: string[] }>()
  for (const place of all)
    for (const [kindName, kind] of Object.entries(kindsAt(place)))
      for (const [name] of presetsOf(kindName, kind)) {
        const fault = catalogue.get(`${place}-${name}`)!
        const key = `${name} ${kindName} ${fault.does}`
        const { at = [], options = [] } = rows.get(key) ?? {}
        // At some places, the kind has more options than at others.
        rows.set(key, { name, fault, kind, at: [...at, place], options: [...options, ...Object.keys(fault.options)] })
      }
  return [...rows.values()].map(({ name, fault, kind, at, options }) => {
    const times = kind.presets?.[name]?.when ?? kind.when
    const same = name === fault.kind ? '' : `${code(fault.kind)} with ${code(short(JSON.stringify(fault.fixed)))}`
    const allOptions = [...new Set(options)].map(code).join(', ')
    return toRow([code(name), same, placesInWords(at), fault.does, times.join(' or '), allOptions])
  })
}

/** Returns one table row for each option, with all fault kinds that have this option. */
function optionRows(): string[] {
  const rows = new Map<string, { cells: string[]; of: Set<string> }>()
  for (const place of all)
    for (const [kind, { options = {} }] of Object.entries(kindsAt(place)))
      for (const [name, { about, allowed, default: usual }] of Object.entries(options)) {
        const cells = [about, allowed, usual === undefined ? '' : code(JSON.stringify(usual))]
        const key = [name, ...cells].join(' ')
        const row = rows.get(key) ?? { cells, of: new Set() }
        rows.set(key, { ...row, of: row.of.add(code(kind)) })
      }
  return [...rows].map(([key, { cells, of }]) => toRow([code(key.split(' ')[0]!), [...of].join(', '), ...cells]))
}

function short(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

function placesInWords(at: Place[]): string {
  return groups.find(([, of]) => of.join() === at.join())?.[0] ?? at.map(code).join(', ')
}
