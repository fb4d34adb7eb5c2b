// Hashes passwords with argon2id from node:crypto, outside the event loop, and only two at a time. The parameters are
// stored together with the hash.
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { isLonger } from '../values/text-length.ts'
import { createTurns } from './turns.ts'

const derive = promisify(argon2)

// The minimum that OWASP recommended in 2025: 19 MiB, two passes, one lane.
const usualCost = { memory: 19_456, passes: 2, parallelism: 1 }
const tagLength = 32

/**
 * The maximum number of characters in a password. Nobody needs a longer password, and hashing it would take more time.
 */
export const longestPassword = 1000

/** The default for `source`, for example when the sandbox seeds a user. */
const ownWork = 'sandbox'

export type Passwords = ReturnType<typeof createPasswords>

/** `cost` is the cost of one hash: KiB of memory, passes and lanes. */
export function createPasswords(cost = usualCost) {
  const inTurn = createTurns()

  return {
    /**
     * Returns the hash in the form `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. Throws Busy. Waiting tasks are counted per
     * `source`.
     */
    hash(password: string, source = ownWork): Promise<string> {
      return inTurn(source, async () => {
        const nonce = randomBytes(16)
        const tag = await derive('argon2id', { message: password, nonce, tagLength, ...cost })
        const { memory, passes, parallelism } = cost
        return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(tag)}`
      })
    },

    /**
     * If `storedHash` is undefined because there is no such user, the function takes the same time and returns false.
     * The response time therefore does not show which e-mail addresses have an account. Throws Busy.
     */
    verify(password: string, storedHash: string | undefined, source = ownWork): Promise<boolean> {
      return inTurn(source, async () => {
        const isPossible = storedHash !== undefined && !isLonger(password, longestPassword)
        const { nonce, tag, ...params } = parseHash(isPossible ? storedHash : undefined) ?? {
          nonce: Buffer.alloc(16),
          tag: Buffer.alloc(tagLength),
          ...cost,
        }
        const message = isPossible ? password : ''
        const found = await derive('argon2id', { message, nonce, tagLength: tag.length, ...params })
        return timingSafeEqual(found, tag) && isPossible
      })
    },
  }
}

function parseHash(text: string | undefined) {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/.exec(text ?? '')
  if (!match) return undefined
  const [, memory, passes, parallelism, nonce = '', tag = ''] = match
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, 'base64url'),
    tag: Buffer.from(tag, 'base64url'),
  }
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64url')
}
