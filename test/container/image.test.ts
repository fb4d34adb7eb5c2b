// Builds and runs the images. If no image can be built here, the tests are skipped and say why. In CI, the tests fail
// instead. Tests that need no image are in dockerfile.test.ts.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { allow, enterPassword } from '../browser/support/sign-in.ts'
import { findFreePorts } from '../support/free-port.ts'
import { skip as browserSkip } from '../support/launch-chromium.ts'
import { openPage } from '../support/open-page.ts'
import { buildImage, type Image, runImage, whyNoImage } from './support/build-image.ts'
import { filesOf, hashOf } from './support/files-of.ts'

const skip = whyNoImage() ?? false
// Installing from the lock file takes longer than the usual time limit of a test.
t.setTimeout(600_000)
if (skip) t.comment(`no image is built: ${skip}`)

const images: Partial<Record<string, Image>> = {}
/** Builds each image once for all tests of this file. */
function imageOf(target: string): Image {
  images[target] ??= buildImage(t, target)
  return images[target]
}

type Component = { name: string; version: string }

const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

/** Runs the health check of an image: the command in `Healthcheck.Test`. */
async function isHealthy([, , ...args]: string[], environment: Record<string, string>): Promise<boolean> {
  return promisify(execFile)(process.execPath, args, { env: environment }).then(
    () => true,
    () => false,
  )
}

for (const target of ['client', 'sandbox'] as const) {
  const other = target === 'client' ? 'sandbox' : 'client'

  t.test(
    `CT-03, SC-02: the image of the ${target} contains only files of the ${target} and the packages that it needs`,
    { skip },
    async t => {
      const { root } = imageOf(target)
      const files = filesOf(join(root, 'app'))
      const own = files.filter(path => !path.startsWith('node_modules/'))
      const expected = [
        'package.json',
        ...globSync(['LICENSE', `src/${target}/**/*`, `views/${target}/**/*`]),
        ...(target === 'sandbox' ? ['docker/make-secrets.ts', ...globSync('src/conformance/**/*')] : []),
      ].filter(path => statSync(path).isFile())
      t.same(own, expected.sort())
      for (const file of own.filter(file => file !== 'package.json'))
        t.equal(hashOf(join(root, 'app', file)), hashOf(file), file)
      t.notMatch(readFileSync(join(root, 'app/package.json'), 'utf8'), `"${other}`)

      const installed = files
        .filter(path => /^node_modules\/(.+\/node_modules\/)?(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
        .map(path => dirname(path))
      // Both npm commands below fail if a package is missing or not needed.
      const npm = (...args: string[]) => execFileSync('npm', args, { cwd: join(root, 'app'), encoding: 'utf8' })
      const listed = npm('ls', '--all', '--parseable').trim().split('\n').slice(1)
      t.same(new Set(installed), new Set(listed.map(path => relative(join(root, 'app'), path))))
      const { components } = JSON.parse(npm('sbom', '--sbom-format=cyclonedx')) as { components: Component[] }
      // If a package is installed in two places, it is still one component.
      const named = (all: Component[]) => [...new Set(all.map(({ name, version }) => `${name}@${version}`))].sort()
      t.same(named(components), named(installed.map(path => readJson(join(root, 'app', path, 'package.json')))))
      const locked = readJson('package-lock.json').packages
      for (const path of installed) {
        t.equal(readJson(join(root, 'app', path, 'package.json')).version, locked[path]?.version, path)
        t.notOk(locked[path]?.dev, path)
      }

      for (const path of filesOf(join(root, 'app/node_modules')))
        t.notMatch(path, /(^|\/)(test|tests|__tests__|docs|\.git)\/|\.(test\.[cm]?js|ts|map|tsbuildinfo|env)$/, path)
      for (const path of [
        'usr/local/bin/npm',
        'usr/local/bin/npx',
        'usr/local/bin/corepack',
        'usr/local/lib/node_modules',
        'root/.npm',
        'root/.npmrc',
        'build',
      ])
        t.notOk(statSync(join(root, path), { throwIfNoEntry: false }), path)
      const bytes = files.reduce((sum, path) => sum + statSync(join(root, 'app', path)).size, 0)
      // The maximum sizes that docs/container.md promises.
      const promised = target === 'client' ? 5_000_000 : 10_000_000
      t.ok(bytes < promised, `all files together take ${bytes} bytes, and must take less than ${promised}`)
    },
  )
}

/** Starts both containers. They listen on this machine's loopback addresses. */
async function runBoth() {
  const [port, portalPort, apiPort] = await findFreePorts(3)
  const registration = { id: 'image-test', secret: 'a-client-credential-only-for-tests-0003' }
  const person = { email: 'developer@example.test', password: 'correct horse battery staple' }
  const [publicUrl, portalUrl, apiUrl] = [
    `http://localhost:${port}`,
    `http://127.0.0.1:${portalPort}`,
    `http://127.0.0.1:${apiPort}`,
  ]
  const environments = {
    sandbox: {
      PORTAL_PORT: `${portalPort}`,
      API_PORT: `${apiPort}`,
      PORTAL_URL: portalUrl,
      API_URL: apiUrl,
      SEED_CLIENT_ID: registration.id,
      SEED_CLIENT_SECRET: registration.secret,
      SEED_REDIRECT_URIS: `${publicUrl}/exchangeToken`,
      SEED_USER_EMAIL: person.email,
      SEED_USER_PASSWORD: person.password,
    },
    client: {
      PORT: `${port}`,
      PUBLIC_URL: publicUrl,
      LOGIN_URL: portalUrl,
      API_URL: apiUrl,
      CLIENT_ID: registration.id,
      CLIENT_SECRET: registration.secret,
      COOKIE_KEYS: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
    },
  }
  const sandbox = await runImage(t, imageOf('sandbox'), environments.sandbox, { writable: '/app/data' })
  const client = await runImage(t, imageOf('client'), environments.client)
  return { containers: { sandbox, client }, environments, publicUrl, person }
}

let running: ReturnType<typeof runBoth> | undefined
/** Starts both containers once for all tests of this file. The test of CT-02 stops them. */
function both() {
  running ??= runBoth()
  return running
}

t.test(
  'CT-01: if the client and the sandbox run as containers, a person can sign in and create an application',
  { skip: skip || browserSkip },
  async t => {
    const { publicUrl, person, containers } = await both()
    const { page, troubles } = await openPage(t)
    await page.goto(publicUrl)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await enterPassword(page, person)
    await allow(page)
    await page.waitForURL(`${publicUrl}/applications`)
    await page.getByRole('link', { name: 'New application' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Weather station')
    await page.getByLabel('Redirect URIs').fill('http://localhost:5000/exchangeToken')
    await page.getByRole('button', { name: 'Create application' }).click()
    await page.getByRole('heading', { name: 'Weather station is registered' }).waitFor()
    t.same(troubles, [])
    for (const { output } of Object.values(containers)) t.notMatch(output(), /"level":[56]0|correct horse/)
  },
)

t.test(
  'CT-01, CT-02: the client and the sandbox are healthy without root rights and on a read-only disk, and after SIGTERM they end with exit code 0',
  { skip },
  async t => {
    const { containers, environments } = await both()
    for (const name of ['client', 'sandbox'] as const) {
      const { status, stop } = containers[name]
      const { Healthcheck } = imageOf(name).config
      t.match(status(), /^Uid:\t65532\t65532\t65532\t65532$/m, name)
      t.match(status(), /^NSpid:\t\d+\t1$/m, `${name} must be process 1`)
      t.match(status(), /^CapEff:\t0+$/m)
      t.match(status(), /^CapBnd:\t0+$/m)
      t.match(status(), /^NoNewPrivs:\t1$/m)
      t.ok(await isHealthy(Healthcheck.Test, environments[name]), `${name} must be healthy`)
      t.equal(await stop(), 0, name)
      t.notOk(
        await isHealthy(Healthcheck.Test, environments[name]),
        `${name} has stopped, so its health check must fail`,
      )
    }
  },
)

t.test('the conformance suite in its image can check a client on the same machine', { skip }, async t => {
  const [port, portalPort, apiPort] = await findFreePorts(3)
  const clientUrl = `http://localhost:${port}`
  const registration = { CLIENT_ID: 'image-test', CLIENT_SECRET: 'a-client-credential-only-for-tests-0003' }
  const client = spawn(process.execPath, ['test/conformance/clients/main.ts'], {
    stdio: 'ignore',
    env: {
      ...registration,
      PORT: `${port}`,
      CLIENT_URL: clientUrl,
      REDIRECT_URI: `${clientUrl}/exchangeToken`,
      LOGIN_URL: `http://127.0.0.1:${portalPort}`,
      API_URL: `http://127.0.0.1:${apiPort}`,
    },
  })
  t.teardown(() => client.kill())
  const { root, config } = imageOf('conformance')
  // A program that runs containers would add this file.
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n')
  const variables = [...config.Env, ...Object.entries(registration).map(([name, value]) => `${name}=${value}`)]
  const ports = ['--portal-port', `${portalPort}`, '--api-port', `${apiPort}`]
  const { stdout } = await promisify(execFile)('chroot', [
    ...[`--userspec=${config.User}`, root, '/usr/bin/env', '-i', '-C', config.WorkingDir, ...variables],
    ...[...config.Entrypoint, 'conformance', '--client', clientUrl, ...ports, '--only', '^login-works$'],
  ])
  t.match(stdout, '1 passed, 0 failed')
})
