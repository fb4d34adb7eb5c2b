// Checks that the generated tables in the documents agree with the schemas and catalogues of the sandbox.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { code } from '../../scripts/markdown.ts'
import { makeDocuments } from '../../scripts/write-docs.ts'
import { catalogue } from '../../src/sandbox/lab/faults/catalogue.ts'

t.test('the generated tables in the documents are up to date with the schemas', async t => {
  for (const [path, document] of await makeDocuments())
    t.equal(readFileSync(path, 'utf8'), document, `${path} is outdated: run npm run docs`)
})

t.test('the page of faults lists every option of each fault, with its default', async t => {
  const rows = readFileSync('docs/faults.md', 'utf8')
    .split('\n')
    .map(line => line.split(' | ').map(cell => cell.replace(/^\| | ?\|$/g, '')))
  for (const { name, place, kind, does, options } of catalogue.values()) {
    const shortName = code(name.slice(place.length + 1).replace(/-after$/, ''))
    const row = rows.find(([first, , , text]) => first === shortName && text === does)
    for (const [option, { about, allowed, default: usual }] of Object.entries(options)) {
      t.ok(row?.at(-1)?.split(', ').includes(code(option)), `${name}: ${option}`)
      const value = usual === undefined ? '' : code(JSON.stringify(usual))
      const found = rows.some(
        ([first, kinds, ...cells]) =>
          first === code(option) &&
          kinds?.split(', ').includes(code(kind)) &&
          cells.join(' | ') === [about, allowed, value].join(' | '),
      )
      t.ok(found, `${name}: ${option} has the default ${value || '(none)'}`)
    }
  }
})
