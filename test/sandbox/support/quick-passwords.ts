// Password hashes that cost almost nothing, for tests with many sign-ins.
import { createPasswords } from '../../../src/sandbox/people/hash-passwords.ts'

/** Hashes passwords at almost no cost, for tests that do not check how hard it is to guess a password. */
export const quickPasswords = () => createPasswords({ memory: 8, passes: 1, parallelism: 1 })
