import { createPasswords } from '../../../src/sandbox/people/passwords.ts'

/** Hashes passwords at almost no cost. For tests that are not about the cost of guessing a password. */
export const quickPasswords = () => createPasswords({ memory: 8, passes: 1, parallelism: 1 })
