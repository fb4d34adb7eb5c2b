import { createPasswords } from '../../../src/sandbox/people/passwords.ts'

/** Hashed at next to no cost, for tests that are not about how hard a password is to guess. */
export const quickPasswords = () => createPasswords({ memory: 8, passes: 1, parallelism: 1 })
