// Makes a self-signed certificate for a server of a test.
import { randomUUID } from 'node:crypto'
import { generate } from 'selfsigned'

const hour = 60 * 60 * 1000

/** Returns PEM for an IP address. By default the certificate is valid from an hour ago until an hour from now. */
export async function makeCertificate(ip: string, validity: { notBefore?: Date; notAfter?: Date } = {}) {
  const { notBefore = new Date(Date.now() - hour), notAfter = new Date(Date.now() + hour) } = validity
  // Each certificate has its own name, because OpenSSL would use only the first of several certificates with the same
  // name.
  const { cert, private: key } = await generate([{ name: 'commonName', value: `test ${randomUUID()}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: notBefore,
    notAfterDate: notAfter,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip }] },
    ],
  })
  return { cert, key }
}
