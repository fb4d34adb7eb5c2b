// Tests how checks read the output of a client that prints late, or prints too much.
import t, { type Test } from 'tap'
import { Failed } from '../../src/conformance/check.ts'
import { checks } from '../../src/conformance/checks.ts'
import type { CheckContext } from '../../src/conformance/context.ts'
import { recordOutput } from '../../src/conformance/output-record.ts'
import { expectUnprinted } from '../../src/conformance/steps/unprinted.ts'
import { buildClient } from './clients/client.ts'
import type { Settings } from './clients/visit.ts'
import { openStage } from './support/stage.ts'

t.test('a position in the output stays valid after the oldest output was dropped', t => {
  const printed = recordOutput(10)
  printed.add('before-')
  const position = printed.outputEnd()
  printed.add('since')
  t.equal(printed.output(position), 'since')
  t.equal(printed.output(), 'before-since')
  printed.add('-12345678')
  t.equal(printed.output(), '-12345678'.padStart(10, 'e'), 'only the last part is kept')
  t.notOk(printed.hasOutputSince(position))
  const later = printed.outputEnd()
  t.equal(printed.output(later), '')
  printed.add('new')
  t.equal(printed.output(later), 'new')
  t.ok(printed.hasOutputSince(later))
  t.end()
})

/** Judges a correct client, apart from its output, and returns the result of one check. */
async function judge(t: Test, id: string, changeOutput: (settings: Settings) => ReturnType<typeof buildClient>) {
  const stage = await openStage([], { hasReplica: false, hasBrowser: false })
  t.teardown(() => stage.close())
  return stage.judgeOnce(changeOutput, checks.find(check => check.id === id)!)
}

t.test('a check waits a moment for the output, because a program may print after its answer', async t => {
  const printed = recordOutput()
  const pause = async () => printed.add('GET /exchangeToken?code=a-code-of-a-login\n')
  const platform = { round: { output: 0 } }
  const context = { clientProcess: printed, pause, outputStart: 0, platform } as unknown as CheckContext
  await t.rejects(
    expectUnprinted(context, 'the code', ['a-code-of-a-login']),
    new Failed('The output of the client contains the code.'),
  )
})

t.test('SE-04: the suite finds a secret that the client prints only when it ends', async t => {
  const result = await judge(t, 'run-log-secrets', settings => {
    const server = buildClient(settings)
    return server.on('close', () => settings.print(`settings: ${settings.clientSecret}`))
  })
  t.match(result, { verdict: 'failed', reason: 'The output of the client contains the client secret' })
})

const much = 'x\n'.repeat(20_000_000)

for (const id of ['log-code', 'log-one-line-callback', 'run-log-secrets', 'run-log-states', 'run-log-people'])
  t.test(`if the client prints so much that its first output is dropped, the check ${id} is undecided`, async t => {
    let isFirst = true
    const result = await judge(t, id, settings => {
      const server = buildClient(settings)
      server.on('request', () => {
        if (isFirst) settings.print(much)
        isFirst = false
      })
      return server
    })
    t.match(result, { verdict: 'undecided', reason: 'The client printed so much' })
  })

t.test('a client that prints nothing passes the checks of the output', async t => {
  for (const id of ['log-code', 'run-log-secrets'])
    t.match(await judge(t, id, settings => buildClient({ ...settings, print: () => {} })), { verdict: 'passed' }, id)
})
