// Starts the client: reads the settings, builds the server, listens, and stops cleanly.
import type { FastifyInstance } from 'fastify'
import manifest from '../../package.json' with { type: 'json' }
import { buildClient, type ServerOptions } from './app.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { explain, listen } from './operations/listen.ts'
import { openLog } from './operations/log.ts'
import { limitConnections } from './operations/sockets.ts'
import { exitOnCrash, stopOnSignal } from './operations/stop.ts'
import { isPlainHttp, type ProductSettings } from './read-settings.ts'
import { productSettings } from './settings.ts'

type Program<Product extends object> = {
  /** The settings of the product. */
  settings: ProductSettings<Product>
  build: (config: Config & { product: Product }, options: ServerOptions) => Promise<FastifyInstance>
}

/**
 * Starts the client with a product. Tests pass another product. If the client cannot start, the process ends. If
 * `isDevelopment` is true, the log is written for people, and a template is read again each time it is rendered.
 */
export async function start<Product extends object>(
  environment: NodeJS.ProcessEnv,
  { settings, build }: Program<Product>,
  isDevelopment = false,
): Promise<void> {
  try {
    const config = readConfig(environment, settings)
    const { host, port, metricsPort, loginInternalUrl, apiInternalUrl } = config
    // The metrics package is loaded only if METRICS_PORT is set.
    const metrics = metricsPort === undefined ? undefined : (await import('./operations/metrics.ts')).createMetrics()
    const isReadable = isDevelopment || process.stdout.isTTY
    const { logger, flush } = await openLog(config.logLevel, manifest.version, isReadable)
    exitOnCrash(logger, flush)
    logger.info({ event: 'settings', settings: config })
    const plainHttp = [loginInternalUrl, apiInternalUrl].filter(address => isPlainHttp(new URL(address)))
    if (plainHttp.length > 0) logger.warn({ event: 'plain_http', addresses: plainHttp })

    const draining = new AbortController()
    const client = await build(config, {
      logger,
      ...metrics,
      draining: draining.signal,
      reloadTemplates: isDevelopment,
    })
    const limit = limitConnections(config.maxConnections, logger)
    limit(client.server)
    const metricsServer = await metrics?.listen(host, metricsPort!, logger).catch(error => {
      throw explain(error, 'METRICS_PORT', host, metricsPort!)
    })
    if (metricsServer) limit(metricsServer)
    stopOnSignal(client, config.prestopDelayMs, draining, async () => {
      metricsServer?.close()
      await flush()
    })
    await listen(client, host, port)
  } catch (error) {
    // For a ConfigError, the message is enough. Any other error is a bug, and its stack shows where the bug is.
    const text = error instanceof ConfigError ? error.message : ((error as Error | undefined)?.stack ?? error)
    process.stderr.write(`${text}\n`)
    process.exit(1)
  }
}

if (import.meta.main) {
  const program = { settings: productSettings, build: buildClient }
  await start(process.env, program, process.argv.includes('--dev'))
}
