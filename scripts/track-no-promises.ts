// Loaded into each test's process before tap: its hooks, which tell what of a test goes on where, follow every promise,
// and that takes an eighth of the processor time of most files. Timers and sockets are enough to find the test by.
import hooks, { type HookCallbacks } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = hooks
hooks.createHook = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false })
syncBuiltinESMExports()
