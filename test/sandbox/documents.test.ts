// Checks that the generated tables in the documents agree with the schemas and catalogues of the sandbox.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { makeDocuments } from '../../scripts/write-docs.ts'

t.test('the generated tables in the documents are up to date with the schemas', async t => {
  for (const [path, document] of await makeDocuments())
    t.equal(readFileSync(path, 'utf8'), document, `${path} is outdated: run npm run docs`)
})
