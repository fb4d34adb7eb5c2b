// A test loads this file into a process. The process then refuses connections to other machines, and prints its largest
// memory use when it ends.
import { Socket } from 'node:net'

const connect = Socket.prototype.connect as (...parameters: unknown[]) => Socket

Socket.prototype.connect = function (this: Socket, ...parameters: unknown[]) {
  // If Node itself calls `connect`, it passes its arguments as one array.
  const [first] = parameters.flat() as { host?: string; path?: string }[]
  const host = first?.host ?? 'localhost'
  if (!first?.path && !/^(localhost|127\.[\d.]+|::1)$/.test(host)) {
    process.stderr.write(`refused to connect to ${host}\n`)
    throw new Error('This process may talk to its own machine only.')
  }
  return connect.apply(this, parameters)
} as Socket['connect']

process.on('exit', () => process.stderr.write(`peak of ${process.resourceUsage().maxRSS} KiB\n`))
