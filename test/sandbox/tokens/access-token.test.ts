// Tests the conversion of signatures into the format of a JWT.
import { generateKeyPairSync, sign, verify } from 'node:crypto'
import t from 'tap'
import { toJoseSignature } from '../../../src/sandbox/tokens/access-token.ts'

t.test('a signature of an access token is still valid after its conversion from DER to the JOSE format', async t => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const content = Buffer.from('any content')
  const signature = toJoseSignature(sign('sha256', content, privateKey))
  t.ok(verify('sha256', content, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature))
})

t.test(
  'in the JOSE format, each of the two numbers of a signature takes 32 bytes, whatever its length in DER is',
  async t => {
    const numbers = [
      // DER adds a leading zero byte if a number would otherwise be negative, and removes all other leading zero bytes.
      { der: `0221 00${'ff'.repeat(32)}`, jose: 'ff'.repeat(32) },
      { der: `0220 ${'7f'.repeat(32)}`, jose: '7f'.repeat(32) },
      { der: `021f ${'7f'.repeat(31)}`, jose: `00${'7f'.repeat(31)}` },
      { der: '0201 05', jose: '05'.padStart(64, '0') },
    ]
    for (const first of numbers)
      for (const second of numbers) {
        const content = Buffer.from((first.der + second.der).replaceAll(' ', ''), 'hex')
        const der = Buffer.concat([Buffer.from([0x30, content.length]), content])
        t.equal(toJoseSignature(der).toString('hex'), first.jose + second.jose, der.toString('hex'))
      }
  },
)
