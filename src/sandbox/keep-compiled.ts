// Keeps what Node makes of these sources, so that the next start takes half the time: node --import ./src/sandbox/keep-compiled.ts
// It goes first, because what is imported is compiled before the file that imports it runs.
import { enableCompileCache } from 'node:module'

// Not in the folder for temporary files: what others could write there would be run here. Where it cannot be written to,
// nothing is kept.
enableCompileCache('node_modules/.cache/sandbox')
