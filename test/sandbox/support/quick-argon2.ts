// Loaded into a started sandbox before all else: its passwords are hashed at next to no cost, as by quickPasswords.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

const { argon2 } = crypto
crypto.argon2 = (algorithm, parameters, callback) =>
  argon2(algorithm, { ...parameters, memory: 8, passes: 1, parallelism: 1 }, callback)
syncBuiltinESMExports()
