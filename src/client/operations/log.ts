// Writes log lines to standard output, as JSON or as readable lines for development. Writing never blocks.
import { setTimeout as wait } from 'node:timers/promises'
import { type DestinationStream, type Logger, pino } from 'pino'

const retryMs = 1_000
const lastLinesMs = 500

type Log = {
  logger: Logger
  /** Resolves when all lines are written, or after half a second at the latest. */
  flush: () => Promise<void>
}

/**
 * If `isReadable` is true, the lines are formatted for people with pino-pretty, a development package. If this package
 * is missing, the lines are JSON.
 */
export async function openLog(level: string, version: string, isReadable: boolean): Promise<Log> {
  const options = { level, base: { app: 'client', version }, timestamp: pino.stdTimeFunctions.isoTime }
  const readable = isReadable ? await openReadableLog(process.stdout) : undefined
  if (readable) return { logger: pino(options, readable), flush: async () => {} }
  const output = openOutput()
  async function flush(): Promise<void> {
    // The function `once` of node:events would throw an error if the disk is full.
    const written = new Promise(resolve => output.once('drain', resolve))
    output.write('')
    await Promise.race([written, wait(lastLinesMs)])
  }
  return { logger: pino(options, output), flush }
}

/**
 * Lines are written asynchronously, because a synchronous write to a pipe that nobody reads would block the process. At
 * most 1 MiB of lines can wait to be written, and further lines are lost. If the disk is full, the client tries to
 * write the lines again until there is space.
 */
function openOutput() {
  let isFailing = false
  // The code uses process.stdout.fd instead of the number 1, because reading the property process.stdout makes a pipe
  // non-blocking.
  const output = pino.destination({ dest: process.stdout.fd, sync: false, maxLength: 1024 * 1024 })
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  setInterval(() => isFailing && output.write(''), retryMs).unref()
  // When the process exits, pino would try to write the remaining lines. If nobody reads the log or the disk is full,
  // pino would try forever.
  process.prependListener('exit', () => output.destroy())
  return output
}

/** Returns undefined if pino-pretty is not installed. */
export async function openReadableLog(out: NodeJS.WritableStream): Promise<DestinationStream | undefined> {
  const pretty = await import('pino-pretty').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  })
  const format = pretty?.prettyFactory({
    colorize: false,
    singleLine: true,
    translateTime: 'HH:MM:ss',
    messageFormat: ({ event, msg = '' }) => String(event ?? msg).replaceAll('\n', ' '),
    // The readable lines do not contain these fields. The fields help operators search a log, but in a terminal they
    // only make the lines longer.
    ignore: 'event,pid,hostname,app,version,reqId,visitor',
    // The cause of an error is printed with the lines of its stack.
    errorLikeObjectKeys: ['cause'],
  })
  // The stack of an error can contain text that somebody sent. Control characters could change what the terminal shows
  // (LG-03).
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for control characters
  const controlCharacters = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g
  return format && { write: line => void out.write(format(line).replace(controlCharacters, '\ufffd')) }
}
