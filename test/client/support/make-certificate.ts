// Makes a self-signed certificate (X.509, RFC 5280). Node can read certificates, but not make them.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'

/** Returns PEM for an IPv4 address. By default the certificate is valid from an hour ago until an hour from now. */
export function makeCertificate(ip: string, { notBefore, notAfter }: { notBefore?: Date; notAfter?: Date } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const hour = 60 * 60 * 1000
  // Each certificate has its own name, because OpenSSL would use only the first of several certificates with the same
  // name.
  const name = sequence(tlv(0x31, sequence(objectId('550403'), tlv(0x0c, Buffer.from(`test ${randomUUID()}`)))))
  const validity = sequence(
    time(notBefore ?? new Date(Date.now() - hour)),
    time(notAfter ?? new Date(Date.now() + hour)),
  )
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'))
  const address = tlv(0x87, Buffer.from(ip.split('.').map(Number)))
  const extensions = sequence(
    sequence(objectId('551d11'), tlv(0x04, sequence(address))),
    sequence(objectId('551d13'), tlv(0x01, Buffer.of(0xff)), tlv(0x04, sequence(tlv(0x01, Buffer.of(0xff))))),
  )
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.of(2))),
    tlv(0x02, Buffer.of(1)),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, extensions),
  )
  const signature = sign('sha256', body, privateKey)
  const certificate = sequence(body, ecdsaWithSha256, tlv(0x03, Buffer.concat([Buffer.of(0), signature])))
  const lines = certificate
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function sequence(...parts: Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts))
}

function objectId(hex: string): Buffer {
  return tlv(0x06, Buffer.from(hex, 'hex'))
}

/** Encodes a time as GeneralizedTime, to the second. */
function time(at: Date): Buffer {
  return tlv(0x18, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(0, 14)}Z`))
}
