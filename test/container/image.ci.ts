// The image of the client, built again with nothing kept of the first time: all is downloaded and installed once more.
import { join } from 'node:path'
import t from 'tap'
import { buildImage, whyNoImage } from './support/build-image.ts'
import { filesOf, hashOf } from './support/files-of.ts'

const skip = whyNoImage() ?? false
if (skip && process.env.CI) throw new Error(`No image is built: ${skip}`)
// Installing from the lock file takes longer than other tests may.
t.setTimeout(600_000)

t.test('SC-08: built twice from the lock file, the client is the same, file by file', { skip }, async t => {
  const [first, second] = [false, true].map(isFresh => {
    const folder = join(buildImage(t, 'client', { isFresh }).root, 'app')
    return filesOf(folder).map(path => `${path} ${hashOf(join(folder, path))}`)
  })
  t.ok(first!.length > 100)
  t.same(second, first)
})
