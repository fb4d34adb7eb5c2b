// Accepts https for the demo, with a certificate that the demo makes itself. The client and the sandbox themselves
// listen on plain http.
import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createServer, getCACertificates, type Server, setDefaultCACertificates } from 'node:tls'

/** Both values are in the PEM format. */
export type Certificate = { cert: string; key: string }

const day = 24 * 60 * 60 * 1000
// Apple's programs refuse certificates that are valid for more than 825 days.
const lifetimeDays = 397

/**
 * Reads the certificate from this folder. Makes a new certificate if the folder has none, or if the old certificate
 * expires within a day. The demo keeps its certificate, because browsers warn about each new certificate.
 */
export async function keepCertificate(folder: string): Promise<Certificate & { certFile: string }> {
  const [certFile, keyFile] = [join(folder, 'demo-certificate.pem'), join(folder, 'demo-certificate-key.pem')]
  if (existsSync(certFile) && existsSync(keyFile)) {
    const kept = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8'), certFile }
    if (new X509Certificate(kept.cert).validToDate.getTime() > Date.now() + day) return kept
  }
  const made = await makeCertificate()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(keyFile, made.key, { mode: 0o600 })
  writeFileSync(certFile, made.cert)
  return { ...made, certFile }
}

/** Makes a certificate that is safe to trust: it names only this machine, and cannot sign other certificates. */
async function makeCertificate(): Promise<Certificate> {
  // The package `selfsigned` takes a long time to load, so it is loaded only if a certificate is made.
  const { generate } = await import('selfsigned')
  // The name contains the time, so that each certificate has a different name. If several trusted certificates have the
  // same name, OpenSSL uses only the first certificate.
  const name = `The demo on this machine ${new Date().toISOString()}`
  const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - day),
    notAfterDate: new Date(Date.now() + lifetimeDays * day),
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  return { cert, key }
}

/** After this call, this process also trusts this certificate, including in undici and fetch. */
export function trust({ cert }: Pick<Certificate, 'cert'>): void {
  setDefaultCACertificates([...getCACertificates('default'), cert])
}

/**
 * Accepts https connections on this port, on every loopback address. Passes their decrypted content to the plain
 * listener at `plainPort`. Rejects if the port is in use. `close` ends all connections.
 */
export async function listenWithTls(certificate: Certificate, port: number, plainPort: number) {
  const servers: Server[] = []
  const open = new Set<Socket>()
  const close = async () => {
    const closed = servers.map(server => new Promise(resolve => server.close(resolve)))
    for (const socket of open) socket.destroy()
    await Promise.all(closed)
  }
  const addresses = await lookup('localhost', { all: true })
  for (const address of new Set(['127.0.0.1', ...addresses.map(({ address }) => address)])) {
    const server = createServer(certificate, socket => {
      const plain = connect({ port: plainPort, host: 'localhost', noDelay: true })
      // If one side closes the connection, `pipeline` also closes the other side.
      pipeline(socket, plain, socket, () => {})
    })
    server.on('connection', (socket: Socket) => {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
    })
    // If a browser does not trust the certificate, it closes the connection. This is not an error of the demo.
    server.on('tlsClientError', () => {})
    try {
      await once(server.listen(port, address), 'listening')
      servers.push(server)
    } catch (error) {
      // On some machines without IPv6, the hosts file still lists ::1 for localhost.
      if ((error as NodeJS.ErrnoException).code === 'EADDRNOTAVAIL') continue
      await close()
      throw error
    }
  }
  return { close }
}
