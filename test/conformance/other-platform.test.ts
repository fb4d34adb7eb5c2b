// Tests checks that restart the client with the addresses of a second platform.
import t from 'tap'
import type { Check } from '../../src/conformance/check.ts'
import { atOtherPlatform } from '../../src/conformance/steps/restarts.ts'
import { correct } from './clients/behaviour.ts'
import { buildClient } from './clients/client.ts'
import type { Settings } from './clients/visit.ts'
import { openStage } from './support/stage.ts'

const base = { group: 'metadata', title: 'A title', rule: 'PG-21', why: 'Why.', fix: 'Fix it.', isAlone: true } as const

const stage = await openStage([], { hasReplica: false, hasBrowser: false })
t.teardown(() => stage.close())

t.test('a check that has reached its time limit does not restart the client for a second platform', async t => {
  const portals = new Set<string>()
  const build = (settings: Settings) => {
    portals.add(settings.loginUrl)
    return buildClient(settings)
  }
  let running: Promise<void> | undefined
  const late: Check['run'] = context => {
    running = atOtherPlatform(context, other => other.restartClient())
    return running
  }
  const next = async () => void (await t.rejects(running!, new Error('The check has ended.')))
  await stage.judge(build, [
    { ...base, id: 'late', longestMs: 1, run: late },
    { ...base, id: 'next', run: next },
  ])
  t.equal(portals.size, 1)
})

t.test('if a check marks the client as stale at a second platform, the mark is kept', async t => {
  const run: Check['run'] = async context => {
    await atOtherPlatform(context, async other => {
      context.clientProcess!.isStale = false
      other.clientProcess!.isStale = true
      t.equal(context.clientProcess!.isStale, true)
    })
  }
  t.match(await stage.judgeOnce(buildClient, { ...base, id: 'marks', run }), { verdict: 'passed' })
})

t.test('the suite reports a leak at a second platform once, even if the second context has ended earlier', async t => {
  let ownPortal: string | undefined
  const build = (settings: Settings) => {
    ownPortal ??= settings.loginUrl
    if (settings.loginUrl === ownPortal) return buildClient(settings)
    const leak = { 'x-leak': settings.clientSecret }
    return buildClient(settings, { ...correct, headers: visit => ({ ...correct.headers(visit), ...leak }) })
  }
  const visit: Check['run'] = context =>
    atOtherPlatform(context, async other => {
      await other.restartClient()
      await other.startLogin(other.browser())
      await other.end()
    })
  const read: Check['run'] = async ({ platform: { leaks } }) => {
    t.match(leaks, [{ reason: /^The answer to GET .* contains the client secret\.$/ }])
    t.equal(leaks.length, 1)
  }
  const results = await stage.judge(build, [
    { ...base, id: 'visits', run: visit },
    { ...base, id: 'reads', run: read },
  ])
  t.match(results, [{ verdict: 'passed' }, { verdict: 'passed' }])
})
