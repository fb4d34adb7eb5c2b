// Tests that requests for readiness cause only a few probes of the database.
import t from 'tap'
import { createProbe } from '../../../src/sandbox/http/health.ts'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'

t.test('however often readiness is requested, the sandbox probes the database at most once a second', async t => {
  const sandbox = await buildTestSandbox(t)
  let probes = 0
  const count = async () => {
    probes += 1
  }
  const probe = createProbe({ ...sandbox.store, probe: count }, sandbox.now)
  const askOften = () => Promise.all(Array.from({ length: 100 }, probe))
  await askOften()
  t.equal(probes, 1)
  sandbox.passTime(999)
  await askOften()
  t.equal(probes, 1)
  sandbox.passTime(1)
  await askOften()
  t.equal(probes, 2)
  sandbox.passTime(-3_600_000)
  await askOften()
  t.equal(probes, 3, 'after the clock was set back by an hour, the sandbox must not wait an hour for its next probe')
})

t.test('if a probe of the database fails, the sandbox does not start another probe within the same second', async t => {
  const sandbox = await buildTestSandbox(t)
  let probes = 0
  const failing = async () => {
    probes += 1
    throw new Error('full')
  }
  const probe = createProbe({ ...sandbox.store, probe: failing }, sandbox.now)
  for (let count = 0; count < 10; count += 1) await t.rejects(probe(), { message: 'full' })
  t.equal(probes, 1)
})

t.test('the portal and the API share the result of a database probe', async t => {
  const sandbox = await buildTestSandbox(t)
  t.equal((await sandbox.portal.inject('/health/ready')).statusCode, 200)
  await sandbox.store.close()
  for (const listener of [sandbox.portal, sandbox.api])
    t.equal((await listener.inject('/health/ready')).statusCode, 200, 'the result must be kept for a second')
  sandbox.passTime(1000)
  for (const listener of [sandbox.api, sandbox.portal])
    t.equal((await listener.inject('/health/ready')).statusCode, 503)
})
