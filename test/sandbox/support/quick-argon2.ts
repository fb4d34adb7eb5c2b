// A test loads this file into a sandbox process before the sandbox's own code. Then the process hashes passwords at
// almost no cost, like quickPasswords.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { argon2 } = crypto
crypto.argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8, passes: 1, parallelism: 1 }, callback)
syncBuiltinESMExports()
