// Loaded into each test process before tap. tap uses async hooks to find the test that some code belongs to. Without promises
// it finds the file that threw an error after its end, because the files of a process share their promises.
import hooks, { type HookCallbacks } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = hooks
hooks.createHook = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false })
syncBuiltinESMExports()
