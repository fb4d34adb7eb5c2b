// Checks that the compose files are valid and hardened, and that the client and the sandbox accept their settings.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { howToOpen, makeSecrets } from '../../docker/make-secrets.ts'
import { clientSettings, readConfig as readClientConfig } from '../../src/client/config.ts'
import { readConfig as readSandboxConfig } from '../../src/sandbox/config.ts'
import { type Compose, readCompose, readComposeWith, type Service } from './support/read-compose.ts'

const single = readCompose('compose.yaml')
const scaled = readCompose('compose.yaml', 'compose.scale.yaml')
const alone = readCompose('compose.sandbox.yaml')
const setups = { 'compose.yaml': single, 'compose.yaml with compose.scale.yaml': scaled }

/** Returns the volumes of a service, each as [name, folder, mode]. */
const mountsOf = (service: Service) => (service.volumes ?? []).map(volume => volume.split(':'))

/** Makes the secrets in a new folder, as the command does when it runs for the first time. */
function newSecrets(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const reader of ['client', 'sandbox', 'database']) mkdirSync(join(folder, reader))
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
  return { folder, read, ...makeSecrets(folder) }
}

/** Returns the environment variables of a service. The paths of secrets lead to `folder`. */
function environmentOf({ environment = {} }: Service, folder: string) {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, value.replace(/^\/secrets\//, `${folder}/`)]),
  )
}

function configsOf(t: Test, { services }: Compose) {
  const { folder } = newSecrets(t)
  return {
    client: readClientConfig(environmentOf(services.client!, folder)),
    sandbox: readSandboxConfig(environmentOf(services.sandbox!, folder)),
  }
}

for (const [name, setup] of Object.entries({ ...setups, 'compose.sandbox.yaml': alone })) {
  const services = Object.entries(setup.services)

  t.test(`${name} is valid according to the schema of the Compose Specification`, async t => {
    const schema = readFileSync('test/container/compose-spec.schema.json', 'utf8')
    // Removes "id" and "$schema" from the schema. The schema uses an old draft, and Ajv refuses the "id" and "$schema"
    // of that draft.
    const withoutIds = JSON.parse(schema, (key, value) =>
      /^(id|\$schema)$/.test(key) && typeof value === 'string' ? undefined : value,
    )
    const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(withoutIds)
    validate(setup)
    t.same(validate.errors ?? [], [])
    t.notOk(validate({ ...setup, services: { client: { ports: 3000 } } }), 'the schema must refuse wrong files')
  })

  t.test(
    `CT-01, CT-04: in ${name} each service runs without root rights, on a read-only disk, with limits on memory, CPU and processes`,
    async t => {
      for (const [service, settings] of services) {
        t.match(settings.user, /^[1-9]\d*:[1-9]\d*$/, service)
        t.match(settings, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, service)
        t.ok(settings.mem_limit && settings.cpus && settings.pids_limit, `${service} must have limits`)
        t.notOk(settings.privileged)
        if (service !== 'proxy') t.notOk(settings.cap_add, `${service} must not get a capability back`)
      }
    },
  )

  t.test(`in ${name} only this machine can connect to the services`, async t => {
    const ports = services.flatMap(([, { ports = [] }]) => ports)
    t.ok(ports.length > 0)
    for (const port of ports) t.match(port, /^127\.0\.0\.1:\d+:\d+$/)
  })

  t.test(
    `SC-07: in ${name} each image either comes from a registry and is pinned by digest, or is built from this repository`,
    async t => {
      for (const [service, { image, build }] of services)
        t.ok(build ?? /@sha256:[0-9a-f]{64}$/.test(image ?? ''), `${service}: ${image}`)
    },
  )
}

t.test('CT-02: Docker gives the client and the sandbox more time to stop than they need', t => {
  const starter = readCompose('scripts/starter/compose.yaml')
  // The client needs up to 10 seconds, and the sandbox up to 8 seconds.
  for (const { services } of [single, scaled, alone, starter])
    for (const name of ['client', 'sandbox']) if (services[name]) t.equal(services[name].stop_grace_period, '20s', name)
  t.end()
})

t.test('with the compose.yaml of a starter, the client gets each setting in .env', async t => {
  const { folder } = newSecrets(t)
  const given = {
    LOGIN_URL: 'https://login.example',
    API_URL: 'https://api.example',
    CLIENT_ID: '5f0c1d52-7a3e-4b8f-9c46-2e8d7b1a6f90',
    PORT: '3100',
    CANCEL_URL: 'http://localhost:3100/declined',
    LOGIN_INTERNAL_URL: 'http://login:4000',
    API_INTERNAL_URL: 'http://api:4001',
    MAX_CONNECTIONS: '50',
    METRICS_PORT: '9090',
    PRESTOP_DELAY: '8',
    LOG_LEVEL: 'warn',
  }
  const clientOf = (variables: Record<string, string>) => {
    const { services } = readComposeWith(variables, 'scripts/starter/compose.yaml')
    const environment: Record<string, string> = {
      ...services.client!.environment,
      CLIENT_SECRET_FILE: join(folder, 'client/CLIENT_SECRET'),
      COOKIE_KEYS_FILE: join(folder, 'client/COOKIE_KEYS'),
    }
    return { ports: services.client!.ports, environment, config: readClientConfig(environment) }
  }
  const { ports, environment, config } = clientOf(given)
  t.same(ports, ['127.0.0.1:3100:3000'])
  t.match(config, {
    publicUrl: 'http://localhost:3100',
    port: 3000,
    cancelUrl: given.CANCEL_URL,
    loginInternalUrl: given.LOGIN_INTERNAL_URL,
    apiInternalUrl: given.API_INTERNAL_URL,
    maxConnections: 50,
    metricsPort: 9090,
    logLevel: 'warn',
  })
  t.equal(environment.PRESTOP_DELAY, '8')
  // In the container, the client listens on the address of the image and on port 3000.
  for (const { name } of clientSettings.filter(({ name }) => !['HOST', 'PORT'].includes(name)))
    t.ok(name in environment || `${name}_FILE` in environment, name)

  const { LOGIN_URL, API_URL, CLIENT_ID } = given
  const needed = { LOGIN_URL, API_URL, CLIENT_ID }
  t.match(clientOf(needed).config, { publicUrl: 'http://localhost:3000', maxConnections: 1000, logLevel: 'info' })
})

for (const [name, setup] of Object.entries(setups)) {
  const services = Object.entries(setup.services)

  t.test(`in ${name} the database is PostgreSQL 18, and only the sandbox can connect to it`, async t => {
    t.same(setup.services.database?.networks, ['store'])
    t.match(setup.networks, { store: { internal: true } })
    t.match(setup.services.database?.image, /postgres:18@/)
  })

  t.test(`SE-04: ${name} contains no secret, and each service gets only its own secrets`, async t => {
    for (const [service, settings] of services) {
      const reads = Object.entries(settings.environment ?? {}).filter(([variable]) =>
        /SECRET|PASSWORD|KEY|DATABASE_URL/.test(variable),
      )
      for (const [variable, value] of reads) {
        t.match(variable, /_FILE$/, service)
        t.match(value, new RegExp(`^/secrets/${service}/`), `${service}: ${variable}`)
      }
      if (service === 'make-secrets') continue
      const secrets = mountsOf(settings).filter(([volume]) => volume?.endsWith('-secrets'))
      t.same(
        secrets.map(([volume, folder]) => [volume, folder]),
        [[`${service}-secrets`, `/secrets/${service}`]],
      )
      // Only the proxy may write to its volume, because it stores its own certificate authority there.
      if (service !== 'proxy') t.equal(secrets[0]?.[2], 'ro', service)
    }
    t.same(setup.services['make-secrets']?.network_mode, 'none')
  })

  t.test(`${name} starts make-secrets first, then the database, the sandbox and the client`, async t => {
    const conditions = (service: string) => setup.services[service]?.depends_on
    const made = { 'make-secrets': { condition: 'service_completed_successfully' } }
    t.match(conditions('database'), made)
    t.match(conditions('sandbox'), { ...made, database: { condition: 'service_healthy' } })
    t.match(conditions('client'), { ...made, sandbox: { condition: 'service_healthy' } })
    t.match(setup.services.database, { healthcheck: { test: ['CMD', 'pg_isready', '--host=127.0.0.1'] } })
  })

  t.test(
    `in ${name} the client and the sandbox accept their settings, and the settings that both use have equal values`,
    async t => {
      const { client, sandbox } = configsOf(t, setup)
      t.equal(client.clientId, sandbox.seed?.clientId)
      t.equal(client.clientSecret.reveal(), sandbox.seed?.clientSecret.reveal())
      t.same([client.redirectUri], sandbox.seed?.redirectUris)
      t.equal(client.loginUrl, sandbox.portalUrl)
      t.equal(client.apiUrl, sandbox.apiUrl)
      t.not(
        new URL(client.publicUrl).hostname,
        new URL(client.loginUrl).hostname,
        'client and portal must be on two sites',
      )
      for (const url of [client.loginInternalUrl, client.apiInternalUrl])
        t.ok(setup.services[new URL(url).hostname], `the host in ${url} must be a service`)
    },
  )
}

t.test(
  'compose.sandbox.yaml starts an empty sandbox, which requires LAB_TOKEN and does not keep data after a stop',
  async t => {
    t.strictSame(Object.keys(alone.services), ['sandbox'])
    const { environment, ports, tmpfs, volumes, restart } = alone.services.sandbox!
    const config = readSandboxConfig(environment!)
    t.match(config, { portalUrl: 'http://127.0.0.1:4000', apiUrl: 'http://127.0.0.1:4001', seed: undefined })
    t.match(config.lab, { host: '0.0.0.0', port: 4002, urls: ['http://127.0.0.1:4002'] })
    t.equal(config.lab?.token?.reveal(), 'value-of-LAB_TOKEN-in-the-environment')
    t.throws(() => readSandboxConfig({ ...environment, LAB_TOKEN: '' }), /LAB_TOKEN is missing/)
    t.equal(config.databaseUrl.reveal(), 'sqlite::memory:')
    // The in-memory database has its file in /tmp, the folder for temporary files. The rest of the disk is read-only.
    t.strictSame([tmpfs, volumes, restart], [['/tmp'], undefined, undefined])
    for (const url of [config.portalUrl, config.apiUrl, config.lab?.urls[0] ?? ''])
      t.ok(ports?.includes(`127.0.0.1:${new URL(url).port}:${new URL(url).port}`), url)
  },
)

t.test('PS-06: in compose.scale.yaml, the sandbox accepts the visitor’s address only from the proxy', t => {
  const { sandbox, proxy, ...others } = scaled.services
  const address = proxy?.networks && !Array.isArray(proxy.networks) && proxy.networks.default?.ipv4_address
  t.match(address, /^\d+\.\d+\.\d+\.2$/)
  t.strictSame(configsOf(t, scaled).sandbox.trustedProxies, [address])
  // The default network gives addresses only from this range, so no other container can get the address of the proxy.
  t.match(scaled.networks?.default, { ipam: { config: [{ subnet: /\.0\/24$/, ip_range: /\.128\/25$/ }] } })
  t.match(sandbox?.networks, ['default', 'store'])
  for (const [name, { networks }] of Object.entries(others)) t.ok(!networks || Array.isArray(networks), name)
  t.strictSame(
    configsOf(t, single).sandbox.trustedProxies,
    [],
    'without compose.scale.yaml the sandbox must not trust a proxy',
  )
  t.end()
})

t.test(
  'compose.scale.yaml runs two clients and two sandboxes behind a proxy with TLS, and publishes only the port of the proxy',
  async t => {
    const { client, sandbox, proxy } = scaled.services
    t.match([client, sandbox], [{ scale: 2 }, { scale: 2 }])
    t.same([client?.ports, sandbox?.ports], [undefined, undefined])
    t.equal(proxy?.ports?.length, 1)

    const { client: config } = configsOf(t, scaled)
    const blocks = readFileSync('docker/Caddyfile', 'utf8').split(/^(?=\S)/m)
    const routes = {
      [config.publicUrl]: 'client 3000',
      [config.loginUrl]: 'sandbox 4000',
      [config.loginInternalUrl]: 'sandbox 4000',
      [config.apiUrl]: 'sandbox 4001',
      [config.apiInternalUrl]: 'sandbox 4001',
    }
    for (const [address, container] of Object.entries(routes)) {
      const block = blocks.find(block =>
        block
          .split('{')[0]
          ?.split(/[\s,]+/)
          .includes(address),
      )
      t.match(block, `dynamic a ${container}`, address)
    }
  },
)

t.test(
  'make-secrets makes each secret only once, each secret is random, and only the owner of its file can read it',
  async t => {
    const { folder, read, password, labToken } = newSecrets(t)
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
    t.equal(names.length, 7)
    for (const name of names) t.equal(statSync(name).mode & 0o777, 0o600, name)
    const values = names.map(name => readFileSync(name, 'utf8'))
    t.strictSame(makeSecrets(folder), { password, labToken })
    t.same(
      names.map(name => readFileSync(name, 'utf8')),
      values,
      'a second start must not change anything',
    )
    const other = newSecrets(t)
    for (const name of [
      'client/COOKIE_KEYS',
      'client/CLIENT_SECRET',
      'database/POSTGRES_PASSWORD',
      'sandbox/LAB_TOKEN',
    ]) {
      t.match(read(name), /^[\w-]{43}$/)
      t.not(read(name), other.read(name))
    }
    t.match(password, /^[\w-]{12}$/)
    t.equal(labToken, read('sandbox/LAB_TOKEN'))
  },
)

t.test('make-secrets prints how to sign in, and if there is a laboratory, how to open it', async t => {
  const { folder, password, labToken } = newSecrets(t)
  const printFor = ({ services }: Compose) => {
    const { PUBLIC_URL = '', SEED_USER_EMAIL = '', LAB_URL = '' } = services['make-secrets']!.environment!
    return howToOpen({ publicUrl: PUBLIC_URL, email: SEED_USER_EMAIL, labUrl: LAB_URL }, { password, labToken })
  }
  const lines = printFor(single).split('\n')
  t.match(lines, [`Open: http://localhost:3000`, 'E-mail: developer@example.test', `Password: ${password}`])
  t.ok(lines.includes('Lab: http://127.0.0.1:4002'))
  t.ok(lines.includes(`Lab token: ${labToken}`))
  const { lab } = readSandboxConfig(environmentOf(single.services.sandbox!, folder))
  t.equal(lab?.token?.reveal(), labToken, 'the sandbox must require the printed token')
  t.notMatch(printFor(scaled), /Lab/, 'two sandboxes must not have a laboratory')
})

t.test(
  'if make-secrets was interrupted when it ran for the first time, the next run makes the missing secrets',
  async t => {
    const whole = newSecrets(t)
    for (const lost of ['client/CLIENT_SECRET', 'sandbox/DATABASE_URL', 'sandbox/SEED_USER_PASSWORD']) {
      rmSync(join(whole.folder, lost))
      writeFileSync(join(whole.folder, `${lost}.new`), 'ha')
    }
    makeSecrets(whole.folder)
    t.equal(whole.read('client/CLIENT_SECRET'), whole.read('sandbox/SEED_CLIENT_SECRET'))
    t.equal(new URL(whole.read('sandbox/DATABASE_URL')).password, whole.read('database/POSTGRES_PASSWORD'))
    t.match(whole.read('sandbox/SEED_USER_PASSWORD'), /^[\w-]{12}$/)
  },
)
