// Tests that the suite can judge clients over https, and that it checks their certificates.
import { execFile } from 'node:child_process'
import t, { type Test } from 'tap'
import { keepCertificate, listenWithTls } from '../../src/demo-https.ts'
import { findFreePorts } from '../support/free-port.ts'
import { httpsMistakes } from './clients/https-mistakes.ts'

type Ended = { code: number | null; output: string }

/** Runs the suite for a small client behind a TLS proxy. The suite starts the client. */
async function judge(t: Test, environment: (certFile: string) => object, mistake = ''): Promise<Ended> {
  const [port, plainPort] = await findFreePorts(2)
  const certificate = await keepCertificate(t.testdir())
  const front = await listenWithTls(certificate, port, plainPort)
  t.teardown(front.close)
  const client = `https://localhost:${port}`
  const start = `PORT=${plainPort} exec "${process.execPath}" test/conformance/clients/main.ts ${mistake && `--mistake ${mistake}`}`
  const { PATH, TMPDIR, NODE_COMPILE_CACHE } = process.env
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      [
        'src/conformance/main.ts',
        '--client',
        client,
        '--start',
        start,
        '--only',
        '^(login-works|cookie-secure|page-hsts|page-hsts-value)$',
      ],
      { env: { PATH, TMPDIR, NODE_COMPILE_CACHE, ...environment(certificate.certFile) } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, output: stdout + stderr }),
    )
  })
}

t.test('if NODE_EXTRA_CA_CERTS names the certificate of a client, the suite judges the client over https', async t => {
  const { code, output } = await judge(t, NODE_EXTRA_CA_CERTS => ({ NODE_EXTRA_CA_CERTS }))
  t.equal(code, 0, output)
  t.match(output, '4 passed, 0 failed')
})

for (const { name, checks } of httpsMistakes)
  t.test(`over https, the faulty client ${name} fails the check ${checks}`, async t => {
    const { output } = await judge(t, NODE_EXTRA_CA_CERTS => ({ NODE_EXTRA_CA_CERTS }), name)
    t.match(output, '3 passed')
    for (const check of checks) t.match(output, `${check}: `)
  })

t.test(
  'if the certificate of the client is not trusted, the run ends immediately, and the message says what to do',
  async t => {
    const { code, output } = await judge(t, () => ({}))
    t.equal(code, 2, output)
    t.match(output, /The certificate of https:\/\/localhost:\d+ is not trusted \(self-signed certificate/)
    t.match(output, 'NODE_EXTRA_CA_CERTS=certificate.pem')
  },
)
