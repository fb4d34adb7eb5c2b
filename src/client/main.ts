// Starts the client: reads the settings, builds it, listens, and stops cleanly.
import manifest from '../../package.json' with { type: 'json' }
import { buildClient } from './app.ts'
import { ConfigError, isPlainHttp, readConfig } from './config.ts'
import { limitConnections } from './operations/connections.ts'
import { explain, listen } from './operations/listen.ts'
import { openLog } from './operations/log.ts'
import { exitOnCrash, stopOnSignal } from './operations/stop.ts'
import type { Product } from './product.ts'

/** Ends the process where it cannot start. Without a product of its own it is the client of app.ts. */
export async function start(environment: NodeJS.ProcessEnv, product?: Product): Promise<void> {
  try {
    const config = readConfig(environment)
    const { host, port, metricsPort, loginInternalUrl, apiInternalUrl } = config
    // Nothing is counted, and the package not even loaded, where nobody reads it.
    const metrics = metricsPort === undefined ? undefined : (await import('./operations/metrics.ts')).createMetrics()
    const { logger, flush } = openLog(config.logLevel, manifest.version)
    exitOnCrash(logger, flush)
    logger.info({ event: 'settings', settings: config })
    const readable = [loginInternalUrl, apiInternalUrl].filter(address => isPlainHttp(new URL(address)))
    if (readable.length > 0) logger.warn({ event: 'plain_http', addresses: readable })

    const draining = new AbortController()
    const client = await buildClient(config, { logger, ...metrics, draining: draining.signal }, product)
    const limit = limitConnections(config.maxConnections, logger)
    limit(client.server)
    const metricsServer = await metrics?.listen(host, metricsPort!).catch(error => {
      throw explain(error, 'METRICS_PORT', host, metricsPort!)
    })
    if (metricsServer) limit(metricsServer)
    stopOnSignal(client, config.prestopDelayMs, draining, async () => {
      metricsServer?.close()
      await flush()
    })
    await listen(client, host, port)
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

if (import.meta.main) await start(process.env)
