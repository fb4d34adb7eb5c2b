// Tests sandboxes that choose free ports themselves.
import { spawnSync } from 'node:child_process'
import t from 'tap'
import { readConfig } from '../../../src/sandbox/config.ts'
import { CannotListen, onFreePorts } from '../../../src/sandbox/start.ts'
import { findFreePort } from '../../support/free-port.ts'
import { startSandbox } from '../support/start-sandbox.ts'

const free = { PORTAL_PORT: '0', API_PORT: '0', LAB_PORT: '0', DATABASE_URL: 'sqlite::memory:' }

const taken = (settings: ReturnType<typeof readConfig>, port: number) =>
  new CannotListen(settings, Object.assign(new Error('taken'), { code: 'EADDRINUSE', port }))

t.test(
  'two sandboxes on free ports use different ports, and the addresses and the issuer of each sandbox contain its own ports',
  async t => {
    const settings = { ...free, PORTAL_URL: '', LOG_LEVEL: 'info' }
    const both = await Promise.all([1, 2].map(() => startSandbox(t, { databaseUrl: free.DATABASE_URL, settings })))
    const addresses = both.map(({ logLines }) => JSON.parse(logLines.find(line => line.includes('is ready'))!))
    const urls = addresses.flatMap(({ portalUrl, apiUrl, labUrl }) => [portalUrl, apiUrl, labUrl])
    t.equal(new Set(urls).size, 6)
    for (const { portalUrl, apiUrl, labUrl } of addresses) {
      const metadata = (await (await fetch(`${portalUrl}/.well-known/oauth-authorization-server`)).json()) as object
      t.match(metadata, { issuer: portalUrl, token_endpoint: `${portalUrl}/api/exchangeToken` })
      const post = (path: string, body: object) =>
        fetch(`${labUrl}/lab/v1/${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }).then(answer => answer.json() as Promise<Record<string, string>>)
      const { userId } = await post('people', {})
      const { accessToken } = await post('sign-in', { userId })
      const list = await fetch(`${apiUrl}/apps/v1`, { headers: { authorization: `Bearer ${accessToken}` } })
      t.equal(list.status, 200)
    }
  },
)

t.test('a sandbox on free ports keeps the addresses and ports that are set in its settings', async t => {
  const env = { ...free, PORTAL_URL: 'https://portal.example.test', API_PORT: '4999', LAB_TOKEN: 'x'.repeat(22) }
  const config = await onFreePorts(readConfig(env), async config => config)
  const { portalUrl, apiPort, apiUrl } = config
  t.strictSame([portalUrl, apiPort, apiUrl], ['https://portal.example.test', 4999, 'http://127.0.0.1:4999'])
  t.ok(config.portalPort > 0 && config.portalPort !== config.lab?.port)
  t.strictSame(config.lab?.urls, [`http://127.0.0.1:${config.lab?.port}`])
})

t.test(
  'if another program has just taken a port that was free, the sandbox tries another port, but it never replaces a port from the settings',
  async t => {
    const settings = readConfig(free)
    const tried: number[] = []
    const portalPort = await onFreePorts(settings, async ({ portalPort }) => {
      tried.push(portalPort)
      if (tried.length < 3) throw taken(settings, portalPort)
      return portalPort
    })
    t.strictSame([tried.length, tried.at(-1)], [3, portalPort])
    for (const error of [taken(settings, 4999), new Error('something else')]) {
      let times = 0
      const start = onFreePorts(readConfig({ ...free, API_PORT: '4999' }), async () => {
        times += 1
        throw error
      })
      await t.rejects(start, error)
      t.equal(times, 1)
    }
  },
)

t.test(
  'if processes search for free ports at the same time, each process finds different ports; these ports are outside the range that the system gives to other programs',
  async t => {
    // A second copy of the module behaves like a second process: both copies start to search at the same port.
    const copy = (await import(`../../support/free-port.ts${'?copy'}`)) as { findFreePort: typeof findFreePort }
    const find = () => Promise.all([findFreePort(), copy.findFreePort()])
    const ports = (await Promise.all(Array.from({ length: 24 }, find))).flat()
    t.equal(new Set(ports).size, 48)
    t.same(
      ports.filter(port => port <= 10_080 || port > 32_000),
      [],
    )
  },
)

t.test('if no port can be opened at a host, the search for free ports keeps no other port open', async t => {
  // 192.0.2.1 is reserved for documentation, so no machine has this address.
  const script = `
    import { readConfig } from './src/sandbox/config.ts'
    import { onFreePorts } from './src/sandbox/start.ts'
    const config = readConfig({ HOST: '192.0.2.1', PORTAL_PORT: '0', API_PORT: '0', LAB_PORT: '0' })
    await onFreePorts(config, async () => {}).catch(error => console.log(error.message))`
  const { NODE_OPTIONS: _, ...env } = process.env
  const args = ['--input-type=module', '--eval', script]
  const run = spawnSync(process.execPath, args, { encoding: 'utf8', env, timeout: 20_000 })
  t.match(run.stdout, /^cannot listen on HOST/, run.stderr)
  t.equal(run.status, 0, 'the process ends, because nothing is open')
})
