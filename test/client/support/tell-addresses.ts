// This file is loaded into a client's process. The process then writes the addresses of the client to file descriptor
// 3, because the log may be off.
import { writeSync } from 'node:fs'
import { type AddressInfo, Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function (this: Server, ...parameters: unknown[]) {
  this.once('listening', () => {
    const { address, port } = this.address() as AddressInfo
    writeSync(3, `http://${address.includes(':') ? `[${address}]` : address}:${port}\n`)
  })
  return Reflect.apply(listen, this, parameters)
} as Server['listen']
