// Caches the code that Node compiles from these sources. The next start of a program then takes little more than half
// the time. Import this file before all others (`node --import ./scripts/keep-compiled.ts`), because Node compiles all
// modules of a program before it runs the first of them.
import { enableCompileCache, flushCompileCache } from 'node:module'

// Node runs the code in the cache. So the cache is next to the packages, and not in the folder for temporary files,
// where other users could write. If the folder is not writable, as in an image, nothing is cached.
enableCompileCache('node_modules/.cache/compiled')

// Node writes the cache when the process exits. A process that is killed writes nothing, so this timer writes the cache
// a few seconds after the start.
const startIsOverMs = 3_000
setTimeout(flushCompileCache, startIsOverMs).unref()
