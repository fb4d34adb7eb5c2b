// Tests the demo as its user starts it: its output, its data and its certificate.
import { execFile, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { keepCertificate, trust } from '../src/demo-https.ts'
import { makeCertificate } from './client/support/make-certificate.ts'
import { productEnvironment } from './client/support/product-environment.ts'
import { HttpBrowser } from './journey/support/http-browser.ts'
import { logIn } from './journey/support/log-in.ts'
import { findFreePorts } from './support/free-port.ts'
import { readOutput } from './support/read-output.ts'

t.setTimeout(600_000)

const doctor = resolve('src/client/operations/doctor.ts')

/** Starts the demo with its data in this folder, visits it, and stops it. Returns what the demo printed. */
async function visitDemo(
  t: Test,
  folder: string,
  ports: number[],
  option?: string,
  visit: (waitForOutput: (text: string) => Promise<void>) => Promise<void> = async () => {},
): Promise<string> {
  const [PORT, PORTAL_PORT, API_PORT, LAB_PORT] = ports.map(String)
  const demo = spawn(process.execPath, [resolve('src/demo.ts'), ...(option ? [option] : [])], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...productEnvironment,
      ...(ports.length > 0 && { PORT, PORTAL_PORT, API_PORT, LAB_PORT }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => demo.kill('SIGKILL'))
  const { output, closed, waitForOutput } = readOutput(demo)
  await waitForOutput('Lab: ')
  await visit(waitForOutput)
  demo.kill('SIGTERM')
  t.strictSame(await closed, [0, null])
  return output()
}

t.test('if the demo’s client or password was changed, the demo says so, and --seed restores both', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await findFreePorts(4)
  const change = (statement: string) => {
    const file = new DatabaseSync(join(folder, 'data/demo.db'))
    file.exec(statement)
    file.close()
  }
  t.match(
    await visitDemo(t, folder, ports),
    /^Open: .*\nE-mail: .*\nPassword: .*\nLab: http:\/\/127.0.0.1:\d+\n$/,
    'a new demo must not report changes',
  )
  const otherHash = '$argon2id$v=19$m=19456,t=2,p=1$EWYXOQaWLxiXd448pjoyUw$FSE29utEYAfR9ubxfFmQngNVt96IF1WWsv6-aO3jylo'
  const changes = [
    [
      `update client_secrets set hash = 'another'; update users set password_hash = '${otherHash}'`,
      'the client secret no longer works, the password was changed',
    ],
    ['delete from applications', 'the application was removed'],
  ] as const
  for (const [statement, news] of changes) {
    change(statement)
    t.match(
      await visitDemo(t, folder, ports),
      `Since the first start of the demo, ${news}. To undo this: npm run demo -- --seed\n`,
    )
    t.notMatch(await visitDemo(t, folder, ports, '--seed'), 'Since the first start of the demo')
  }
})

t.test('the demo prints what the laboratory says about a refused login, and prints no secret', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await findFreePorts(4)
  type Login = { url: string; verdict: { sentence: string; fix: string }; steps: { kind: string }[] }
  let login: Login | undefined
  const output = await visitDemo(t, folder, ports, undefined, async waitForOutput => {
    const [portal, lab] = [`http://127.0.0.1:${ports[1]}`, `http://127.0.0.1:${ports[3]}`]
    await fetch(`${portal}/a-page-that-does-not-exist`)
    const { clientId } = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8'))
    const query = { client_id: clientId, redirect_uri: 'http://localhost:1/\u001b[31m', state: 'secret-state' }
    await fetch(`${portal}/?${new URLSearchParams({ ...query, response_type: 'code', grant_type: 'authorization' })}`)
    await waitForOutput('/logins/')
    const read = async <T>(path: string) => (await (await fetch(lab + path)).json()) as T
    const { logins } = await read<{ logins: { id: string }[] }>('/lab/v1/logins')
    const all = await Promise.all(logins.map(({ id }) => read<Login>(`/lab/v1/logins/${id}`)))
    login = all.find(({ steps }) => steps.some(({ kind }) => kind === 'authorize'))
  })
  const { verdict, url } = login!
  t.match(verdict.sentence, /^Refused at step 1: redirect_uri is /)
  const printed = verdict.sentence.replace('\u001b', '\ufffd')
  t.match(output, `${printed}\n  ${verdict.fix}\n  ${url}\n`, 'a control character cannot change the terminal')
  t.equal(output.match(/^Refused/gm)?.length, 1, 'the demo must not report a request for a page that does not exist')
  t.notMatch(output, 'secret-state')
})

t.test('the demo reads its ports from .env, but ignores the addresses and secrets of a real platform', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await findFreePorts(4)
  const names = ['PORT', 'PORTAL_PORT', 'API_PORT', 'LAB_PORT']
  writeFileSync(
    join(folder, '.env'),
    `${names.map((name, index) => `${name}=${ports[index]}\n`).join('')}
LOGIN_URL=https://portal.example
LOGIN_INTERNAL_URL=http://portal:4000
CLIENT_SECRET_FILE=/nowhere
PUBLIC_URL=https://client.example
`,
  )
  const output = await visitDemo(t, folder, [], undefined, async () => {
    // fetch would send headers that say that the request is not a navigation.
    const { statusCode, headers } = await request(`http://localhost:${ports[0]}/login`, { reset: true })
    t.equal(statusCode, 302)
    t.match(headers.location, `http://127.0.0.1:${ports[1]}/?`)
  })
  t.match(output, `Open: http://localhost:${ports[0]}\n`)
  t.match(output, `Lab: http://127.0.0.1:${ports[3]}\n`)
})

t.test(
  'with --https, a login works, and the demo keeps its certificate; later, without --https, the demo works over http with the same data',
  async t => {
    const folder = mkdtempSync(join(tmpdir(), 'demo-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const ports = await findFreePorts(4)
    const readCertificate = () => readFileSync(join(folder, 'data/demo-certificate.pem'), 'utf8')
    const signInAt = async (scheme: string) => {
      const { password } = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8')) as { password: string }
      const [publicUrl, portalUrl] = [`${scheme}://localhost:${ports[0]}`, `${scheme}://127.0.0.1:${ports[1]}`]
      const person = { email: 'developer@example.test', password }
      const page = await logIn(new HttpBrowser(), { publicUrl, portalUrl, person })
      t.equal(page.url, `${publicUrl}/applications`)
      t.match(page.text, 'Reference client')
    }

    const output = await visitDemo(t, folder, ports, '--https', async () => {
      trust({ cert: readCertificate() })
      await signInAt('https')
      const lab = await fetch(`https://127.0.0.1:${ports[3]}/lab/v1/logins`)
      t.match(await lab.text(), '"outcome":"signed in"')
      await t.rejects(fetch(`http://localhost:${ports[0]}`), 'the client must not answer without TLS')
    })
    t.match(output, `Open: https://localhost:${ports[0]}\n`)
    t.match(output, `Lab: https://127.0.0.1:${ports[3]}\nYour browser warns you about the certificate`)
    t.equal(output.trim().split('\n').length, 5)
    t.equal(statSync(join(folder, 'data/demo-certificate-key.pem')).mode & 0o077, 0, 'others cannot read the key')

    const first = readCertificate()
    t.notMatch(await visitDemo(t, folder, ports, '--https'), 'Since the first start of the demo')
    t.equal(readCertificate(), first, 'the certificate must stay the same')
    t.notMatch(
      await visitDemo(t, folder, ports, undefined, () => signInAt('http')),
      'Since the first start of the demo',
    )
  },
)

t.test('if NODE_EXTRA_CA_CERTS names the demo’s certificate, the doctor can check the client over https', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const ports = await findFreePorts(4)
  await visitDemo(t, folder, ports, '--https', async () => {
    const secrets = JSON.parse(readFileSync(join(folder, 'data/demo.json'), 'utf8')) as Record<string, string>
    const diagnose = (environment: object) =>
      new Promise<string>(end =>
        execFile(
          process.execPath,
          [doctor],
          {
            env: {
              PATH: process.env.PATH,
              NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
              PUBLIC_URL: `https://localhost:${ports[0]}`,
              LOGIN_URL: `https://127.0.0.1:${ports[1]}`,
              API_URL: `https://127.0.0.1:${ports[2]}`,
              CLIENT_ID: secrets.clientId,
              CLIENT_SECRET: secrets.clientSecret,
              COOKIE_KEYS: secrets.cookieKey,
              ...productEnvironment,
              ...environment,
            },
          },
          (_error, stdout) => end(stdout),
        ),
      )
    const trusting = await diagnose({ NODE_EXTRA_CA_CERTS: join(folder, 'data/demo-certificate.pem') })
    t.notMatch(trusting, /^(no|cannot tell)/m)
    t.match(trusting, `proxy: https://localhost:${ports[0]} passes redirects and cookies on unchanged`)
    t.match(await diagnose({}), /^no +portal: .* does not answer \(DEPTH_ZERO_SELF_SIGNED_CERT\)/m)
  })
})

t.test(
  'the demo replaces a certificate that expires within a day, and keeps a certificate that is valid for longer',
  async t => {
    const folder = t.testdir()
    const { cert, certFile } = await keepCertificate(folder)
    t.equal((await keepCertificate(folder)).cert, cert)
    t.equal(new X509Certificate(cert).checkHost('localhost'), 'localhost')
    t.equal(new X509Certificate(cert).checkIP('127.0.0.1'), '127.0.0.1')
    t.equal(new X509Certificate(cert).ca, false, 'the certificate must not be able to sign other certificates')
    const ending = await makeCertificate('127.0.0.1', { notAfter: new Date(Date.now() + 23 * 60 * 60 * 1000) })
    writeFileSync(certFile, ending.cert)
    const renewed = await keepCertificate(folder)
    t.ok(new X509Certificate(renewed.cert).validToDate.getTime() > Date.now() + 300 * 24 * 60 * 60 * 1000)
    t.equal(readFileSync(certFile, 'utf8'), renewed.cert)
  },
)
