// Loaded into each test process before tap. tap uses async hooks to find the test that some code belongs to. The files of a
// process share promises, so with promises tap would find the wrong file for an error that a file throws after its end.
import hooks, { type HookCallbacks } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const { createHook } = hooks
hooks.createHook = (callbacks: HookCallbacks) => createHook({ ...callbacks, trackPromises: false })
syncBuiltinESMExports()
