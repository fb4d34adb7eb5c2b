// Runs a product's hooks: the functions that the product passes to buildServer. They run at a sign-in or a sign-out. If
// a hook fails, the client logs the error, and the visitor can still sign in or out.
import type { FastifyRequest } from 'fastify'
import { PublicError } from '../errors.ts'
import { logError } from '../web/error-pages.ts'
import type { SignInOptions } from './sign-in.ts'
import type { SessionData, Visitor } from './visitor.ts'

type ProductHooks = Pick<SignInOptions, 'afterSignIn' | 'beforeSignOut' | 'loadSessionData'>

const maxSessionDataBytes = 500
const maxHookMs = 3_000

/** The returned functions never throw. */
export function createProductHooks({ afterSignIn, beforeSignOut, loadSessionData }: ProductHooks) {
  return {
    runAfterSignIn: (visitor: Visitor, request: FastifyRequest) =>
      runHook(request, async () => afterSignIn?.(visitor, request)),

    runBeforeSignOut: (visitor: Visitor | undefined, request: FastifyRequest) =>
      runHook(request, async () => beforeSignOut?.(visitor, request)),

    /** Returns undefined if there is no hook, or if the hook failed. */
    async runLoadSessionData(visitor: Visitor, request: FastifyRequest): Promise<SessionData | undefined> {
      if (!loadSessionData) return undefined
      return runHook(request, async () => {
        const data = await loadSessionData(visitor, request)
        const bytes = Buffer.byteLength(JSON.stringify(data ?? {}))
        if (bytes <= maxSessionDataBytes) return data
        throw new Error(
          `loadSessionData returned ${bytes} bytes of JSON. The session cookie has room for ${maxSessionDataBytes}.`,
        )
      })
    },
  }
}

/**
 * Runs a hook, and waits at most three seconds for it to finish. So most of the request's time is left for the handler
 * that runs after the hook. Errors are logged, not thrown.
 */
async function runHook<T>(request: FastifyRequest, hook: () => Promise<T>): Promise<T | undefined> {
  try {
    return await withTimeLimit(hook, maxHookMs)
  } catch (error) {
    logError(request, new PublicError('hook_failed', 500, 'A hook of the product failed.', { cause: error }))
    return undefined
  }
}

/** Runs a function of the product. Throws an error if the function does not finish in time. */
export async function withTimeLimit<T>(hook: () => T | Promise<T>, limitMs: number): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const error = new Error(`The hook did not finish within ${limitMs / 1000} seconds.`)
  const timer = setTimeout(() => timeout.reject(error), limitMs)
  try {
    return await Promise.race([hook(), timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}
