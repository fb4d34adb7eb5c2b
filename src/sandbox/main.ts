// Starts the sandbox as a process: reads the settings, opens the listeners, and stops cleanly on a signal.
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { buildSandbox } from './app.ts'
import { ConfigError, readConfig, type SandboxConfig } from './config.ts'
import { openLogOutput } from './http/log-output.ts'
import { onFreePorts, startSandbox } from './start.ts'
import { UnusableDatabase } from './store/migrate.ts'

const clock = () => new Date()

async function start(): Promise<void> {
  const settings = readConfig(process.env)
  const { output, flush } = openLogOutput()
  const logger = pino({ level: settings.logLevel, base: { service: 'sandbox' } }, output)
  // Ignore SIGHUP: the sandbox must keep running when its terminal is closed, and it does not reload its settings.
  process.on('SIGHUP', () => undefined)
  // After an uncaught error, the process may no longer work correctly: write one log line and exit.
  process.on('uncaughtException', async ({ name, message, stack }) => {
    logger.fatal({ code: 'crashed', cause: { name, message, stack } }, 'an error was not caught')
    await flush()
    process.exit(1)
  })
  logger.info({ code: 'settings', settings: forLog(settings) }, 'the settings')
  const sandbox = await onFreePorts(settings, async config => {
    const sandbox = await buildSandbox(config, { clock, logger })
    const ports = await startSandbox(sandbox, config)
    const { portalUrl, apiUrl, lab } = config
    logger.info({ ...ports, portalUrl, apiUrl, labUrl: lab?.urls[0] }, 'the sandbox is ready')
    return sandbox
  })

  let isStopping = false
  async function stop(): Promise<void> {
    // On a second signal, stop without waiting.
    if (isStopping) process.exit(1)
    isStopping = true
    sandbox.announceStop()
    await wait(settings.prestopDelayMs)
    await sandbox.close()
    logger.info('the sandbox has stopped')
    await flush()
    // Exit now. Otherwise the process would wait until somebody has read the whole log.
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop())
}

/** Secrets print as [redacted]. The e-mail address is also hidden, because it is personal. */
function forLog(config: SandboxConfig) {
  return { ...config, seed: config.seed && { ...config.seed, userEmail: '[redacted]' } }
}

start().catch((error: NodeJS.ErrnoException) => {
  const isForOperator = error instanceof ConfigError || error instanceof UnusableDatabase
  // If no address of a database host can be reached, Node throws an AggregateError, whose message is empty.
  const reason = error.message || error.code
  process.stderr.write(`${isForOperator ? reason : `The sandbox did not start: ${reason}`}\n`)
  // Exit explicitly, because a listener may already be open and would keep the process running.
  process.exit(1)
})
