// Keeps what Node makes of these sources, so that the next start takes little more than half the time. It goes first
// (`node --import ./scripts/keep-compiled.ts`), because what is imported is compiled before the file that imports it runs.
import { enableCompileCache } from 'node:module'

// Beside the packages, and not in the folder for temporary files: what others could write there would be run here. Where
// it cannot be written to, as in an image, nothing is kept.
enableCompileCache('node_modules/.cache/compiled')
