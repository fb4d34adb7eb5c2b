import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { findBrokenPromises, findHalves } from '../support/check-promises.ts'
import { openDatabases } from '../support/each-database.ts'
import { prepareVisitor, putUnderLoad } from '../support/put-under-load.ts'
import { startSandbox } from '../support/start-sandbox.ts'

// More by hand: node test/sandbox/store/kill.test.ts 50
const kills = Number(process.argv[2] ?? 5)
if (kills > 5) t.setTimeout(0)

for (const database of await openDatabases(t)) {
  t.test(`F-28, F-34, TK-16: killed ${kills} times under load, it keeps its word (${database.name})`, async t => {
    if (kills > 5) t.setTimeout(0)
    const databaseUrl = await database.make(t)
    const survivor = await startSandbox(t, { databaseUrl })
    const visitor = await prepareVisitor(survivor)
    let victim = await startSandbox(t, { databaseUrl })
    const totals = { applications: 0, codes: 0, unanswered: 0 }
    for (let kill = 1; kill <= kills; kill += 1) {
      const loads = [putUnderLoad(victim, visitor), putUnderLoad(survivor, visitor, { workers: 1 })]
      const momentMs = 20 + Math.random() * 400
      await wait(momentMs)
      await victim.kill()
      const [ofVictim, ofSurvivor] = await Promise.all(loads.map(load => load.stop()))
      victim = await startSandbox(t, { databaseUrl })
      const moment = `kill ${kill}, after ${Math.round(momentMs)} ms`
      t.strictSame(await findHalves(databaseUrl), [], `${moment}: nothing is there by half`)
      t.strictSame(await findBrokenPromises(victim, ofVictim!), [], `${moment}: what was answered holds`)
      t.strictSame(await findBrokenPromises(victim, ofSurvivor!), [], `${moment}: the other process went on`)
      t.equal(ofSurvivor!.unanswered, 0)
      for (const { applications, codes, unanswered } of [ofVictim!, ofSurvivor!]) {
        totals.applications += applications.length
        totals.codes += codes.size
        totals.unanswered += unanswered
      }
    }
    t.comment(totals)
    t.ok(totals.applications > kills && totals.codes > kills && totals.unanswered > 0, 'there was load')
  })
}
