// The tables of the documents are made from the schemas and catalogues of the sandbox.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { makeDocuments } from '../../scripts/write-docs.ts'

t.test('the documents have the tables that are made from the schemas', async t => {
  for (const [path, document] of await makeDocuments())
    t.equal(readFileSync(path, 'utf8'), document, `${path} is outdated: run npm run docs`)
})
