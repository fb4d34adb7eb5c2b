// Loaded into a sandbox process before its own code. Passwords are then hashed at almost no cost, as by quickPasswords.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { argon2 } = crypto
crypto.argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8, passes: 1, parallelism: 1 }, callback)
syncBuiltinESMExports()
