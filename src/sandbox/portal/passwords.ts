// Passwords: argon2id through node:crypto, off the event loop, a few at once, with the parameters beside the hash.
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify(argon2)

// OWASP's minimum of 2025: 19 MiB, two passes, one lane.
const cost = { memory: 19_456, passes: 2, parallelism: 1 }
const tagLength = 32

// Each hash takes 19 MiB and one of libuv's four threads; file system and DNS need the others.
const maxAtOnce = 2
const maxWaiting = 50

/** Too many passwords wait to be hashed; come again in a moment. */
export class PasswordsBusy extends Error {}

export type Passwords = ReturnType<typeof createPasswords>

export function createPasswords() {
  let running = 0
  const waiting: (() => void)[] = []

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= maxAtOnce) {
      if (waiting.length >= maxWaiting) throw new PasswordsBusy('too many passwords are waiting to be hashed')
      await new Promise<void>(resolve => waiting.push(resolve))
    } else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // The place is handed on, not given back, so that nobody can slip in between.
      if (next) next()
      else running -= 1
    }
  }

  return {
    /** `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. Throws PasswordsBusy. */
    hash(password: string): Promise<string> {
      return inTurn(async () => {
        const nonce = randomBytes(16)
        const tag = await derive('argon2id', { message: password, nonce, tagLength, ...cost })
        const { memory, passes, parallelism } = cost
        return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce)}$${encode(tag)}`
      })
    },

    /**
     * Without a hash (no such user) it takes the same time and answers false, so that nobody learns by the clock
     * which addresses have an account. Throws PasswordsBusy.
     */
    verify(password: string, storedHash: string | undefined): Promise<boolean> {
      return inTurn(async () => {
        const { nonce, tag, ...params } = parseHash(storedHash) ?? {
          nonce: Buffer.alloc(16),
          tag: Buffer.alloc(tagLength),
          ...cost,
        }
        const found = await derive('argon2id', { message: password, nonce, tagLength: tag.length, ...params })
        return timingSafeEqual(found, tag) && storedHash !== undefined
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
