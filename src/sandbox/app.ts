// Builds the sandbox: the portal and the API, which share one store, and the laboratory, which records requests and
// causes faults. Their routes are listed in portal/build-portal.ts, api/build-api.ts and lab/build-lab.ts.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { buildApi } from './api/build-api.ts'
import type { SandboxConfig } from './config.ts'
import { createLifetimes } from './grants/lifetimes.ts'
import { createProbe } from './http/health.ts'
import type { OpenedLab } from './lab/open-lab.ts'
import type { LabStep } from './lab/record/recorded.ts'
import { createPasswords, type Passwords } from './people/hash-passwords.ts'
import { buildPortal } from './portal/build-portal.ts'
import { type SeedReport, seedStore } from './seed/seed.ts'
import type { Services } from './services.ts'
import { idleLifetimeSeconds } from './store/grants.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import { createSweeper, type Sweeper } from './store/sweep.ts'
import { openKeyRing } from './tokens/key-ring.ts'

export interface Sandbox {
  portal: FastifyInstance
  api: FastifyInstance
  /** Undefined if the settings do not ask for a laboratory. */
  lab: FastifyInstance | undefined
  /** The faults of the laboratory, for tests in the same process. */
  faults: OpenedLab['faults'] | undefined
  store: Store
  /** What the SEED_ settings have changed. Undefined if there are no SEED_ settings. */
  seedReport: SeedReport | undefined
  /** Deletes expired rows from the store. startSandbox starts the sweeper. */
  sweeper: Sweeper
  /** After this call, /health/ready answers 503. */
  announceStop(): void
  /** Answers the open requests, then closes the database. */
  close(): Promise<void>
}

/**
 * Opens the store, seeds it and builds the listeners. The listeners do not accept connections yet. The sandbox calls
 * `onStep` for every recorded step. If the laboratory caused a fault in the request, the step contains this fault.
 * Throws the errors of openStore.
 */
export async function buildSandbox(
  config: SandboxConfig,
  {
    clock,
    logger,
    passwords = createPasswords(),
    isSeedForced,
    onStep,
  }: {
    clock: () => Date
    logger: FastifyBaseLogger
    passwords?: Passwords
    isSeedForced?: boolean
    onStep?: (step: LabStep) => void
  },
): Promise<Sandbox> {
  const store = await openStore(config.databaseUrl, {
    clock,
    onLost: error => logger.warn({ code: 'store-connection-lost', cause: error.message }, 'lost a connection'),
    // Warn if the database file existed but was empty: the database may have lost all its data.
    onNew: wasThere =>
      logger[wasThere ? 'warn' : 'info']({ code: 'new-database' }, 'the database was empty: tables and keys are new'),
  })
  try {
    const { seed } = config
    const seedReport = seed && (await seedStore(store, seed, { passwords, clock, isForced: isSeedForced }))
    if (seedReport) logSeeding(logger, seedReport)
    let isStopping = false
    const addresses = { portalUrl: config.portalUrl, apiUrl: config.apiUrl, labUrl: config.lab?.urls[0] }
    const { accessTokenSeconds, codeSeconds } = config
    const lifetimes = createLifetimes({ accessTokenSeconds, refreshTokenSeconds: idleLifetimeSeconds, codeSeconds })
    const keyRing = await openKeyRing(store, clock)
    let lab: OpenedLab | undefined
    if (config.lab) {
      // Load the laboratory only if the settings ask for it, because a quarter of the source code belongs to it.
      const { openLab } = await import('./lab/open-lab.ts')
      lab = await openLab(config.lab, {
        addresses,
        store,
        keyRing,
        passwords,
        clock,
        logger,
        lifetimes,
        async applySeeds() {
          if (seed) logSeeding(logger, await seedStore(store, seed, { passwords, clock, isForced: true }))
        },
        portal: () => portal,
        onStep,
      })
    }
    const services: Services = {
      addresses,
      lifetimes: lifetimes.of,
      store,
      keyRing,
      passwords,
      clock,
      logger,
      observer: lab?.observer ?? (onStep && { onStep }),
      addFaults: lab?.addFaults,
      mailbox: lab?.mailbox,
      isStopping: () => isStopping,
      probe: createProbe(store, clock),
      trustedProxies: config.trustedProxies,
    }
    const sweeper = createSweeper(store, error =>
      logger.warn({ code: 'sweep-failed', cause: error.message }, 'expired rows stay until the next sweep'),
    )
    const portal = await buildPortal(services)
    const api = await buildApi(services)
    return {
      portal,
      api,
      lab: lab?.server,
      faults: lab?.faults,
      store,
      seedReport,
      sweeper,
      announceStop() {
        isStopping = true
      },
      async close() {
        isStopping = true
        await Promise.all([portal.close(), api.close(), lab?.server.close(), sweeper.stop()])
        await store.close()
      },
    }
  } catch (error) {
    await store.close()
    throw error
  }
}

/**
 * If seeding is refused, this function only logs the reasons: the sandbox must start anyway. Seeding is refused, for
 * example, if somebody else has an account with the address in SEED_USER_EMAIL.
 */
function logSeeding(logger: FastifyBaseLogger, { applied, refused, outdated }: SeedReport): void {
  if (applied.length > 0) logger.info({ code: 'seeded', settings: applied }, 'the SEED_ settings were applied')
  for (const reason of refused) logger.warn({ code: 'seed-refused' }, reason)
  if (outdated.length > 0)
    logger.info(
      { code: 'seed-outdated', changes: outdated },
      'seeded records were changed later; "npm run sandbox:seed -- --force" resets them',
    )
}
