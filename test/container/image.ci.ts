// Builds the image of the client twice. The second build uses no cache, so it downloads and installs everything again.
import { join } from 'node:path'
import t from 'tap'
import { buildImage, whyNoImage } from './support/build-image.ts'
import { filesOf, hashOf } from './support/files-of.ts'

const skip = whyNoImage() ?? false
// Installing from the lock file takes longer than the usual time limit of a test.
t.setTimeout(600_000)

t.test(
  'SC-08: if the image of the client is built twice from the same lock file, both images contain the same files',
  { skip },
  async t => {
    const [first, second] = [false, true].map(isFresh => {
      const folder = join(buildImage(t, 'client', { isFresh }).root, 'app')
      return filesOf(folder).map(path => `${path} ${hashOf(join(folder, path))}`)
    })
    t.ok(first!.length > 100)
    t.same(second, first)
  },
)
