// The map of the sandbox: what its parts are made of, and two listeners on one store. Every route of each is listed in
// portal/build-portal.ts and api/build-api.ts.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { buildApi } from './api/build-api.ts'
import type { SandboxConfig } from './config.ts'
import { createProbe } from './health.ts'
import type { Parts } from './parts.ts'
import { createPasswords } from './passwords.ts'
import { buildPortal } from './portal/build-portal.ts'
import { seedStore } from './seed.ts'
import type { SeedReport } from './seeding.ts'
import type { Observer } from './steps.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import { createSweeper, type Sweeper } from './store/sweeper.ts'
import { openKeyRing } from './tokens/key-ring.ts'
import { createSourceReader } from './trusted-proxies.ts'

export interface Sandbox {
  portal: FastifyInstance
  api: FastifyInstance
  store: Store
  /** What came of the SEED_ settings, where there are any. */
  seedReport: SeedReport | undefined
  /** Runs once the sandbox is started. */
  sweeper: Sweeper
  /** From now on /health/ready answers 503. */
  announceStop(): void
  /** Answers what is in flight, then lets go of the database. */
  close(): Promise<void>
}

/** Opens the store, seeds it and builds both applications; neither listens yet. Throws what openStore throws. */
export async function buildSandbox(
  config: SandboxConfig,
  {
    clock,
    logger,
    isSeedForced,
    observe,
  }: { clock: () => Date; logger: FastifyBaseLogger; isSeedForced?: boolean; observe?: Observer },
): Promise<Sandbox> {
  const store = await openStore(config.databaseUrl, {
    clock,
    onLost: error => logger.warn({ code: 'store-connection-lost', cause: error.message }, 'lost a connection'),
    // One that was there and is empty may have lost everything.
    onNew: wasThere =>
      logger[wasThere ? 'warn' : 'info']({ code: 'new-database' }, 'the database was empty: tables and keys are new'),
  })
  try {
    const passwords = createPasswords()
    const seedReport =
      config.seed && (await seedStore(store, config.seed, { passwords, clock, isForced: isSeedForced }))
    if (seedReport) logSeeding(logger, seedReport)
    let isStopping = false
    const readSource = createSourceReader(config.trustedProxies)
    const parts: Parts = {
      addresses: { portalUrl: config.portalUrl, apiUrl: config.apiUrl },
      lifetimes: { accessTokenSeconds: config.accessTokenSeconds, codeSeconds: config.codeSeconds },
      store,
      keyRing: await openKeyRing(store, clock),
      passwords,
      clock,
      logger,
      observe,
      explainAt: undefined,
      isStopping: () => isStopping,
      probe: createProbe(store, clock),
      sourceOf: request => readSource(request.raw),
    }
    const sweeper = createSweeper(store, error =>
      logger.warn({ code: 'sweep-failed', cause: error.message }, 'expired rows stay until the next sweep'),
    )
    const portal = await buildPortal(parts)
    const api = await buildApi(parts)
    return {
      portal,
      api,
      store,
      seedReport,
      sweeper,
      announceStop() {
        isStopping = true
      },
      async close() {
        isStopping = true
        await Promise.all([portal.close(), api.close(), sweeper.stop()])
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Nobody else can keep a sandbox from starting, so what cannot be seeded is a line in the log. */
function logSeeding(logger: FastifyBaseLogger, { applied, refused, outdated }: SeedReport): void {
  if (applied.length > 0) logger.info({ code: 'seeded', settings: applied }, 'settings for seeding took effect')
  for (const reason of refused) logger.warn({ code: 'seed-refused' }, reason)
  if (outdated.length > 0)
    logger.info(
      { code: 'seed-outdated', changes: outdated },
      'what was seeded was changed since; "npm run sandbox:seed -- --force" undoes that',
    )
}
