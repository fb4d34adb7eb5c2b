// Runs the example sessions of docs/clients-in-other-languages.md, and compares their output with the document.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { buildSandbox } from '../../../src/sandbox/app.ts'
import { readConfig } from '../../../src/sandbox/config.ts'
import { onFreePorts, startSandbox } from '../../../src/sandbox/start.ts'
import { sessionUnder } from './support/session-in-document.ts'

const run = promisify(execFile)

async function startWithLab(t: Test, token = ''): Promise<string> {
  const ports = { PORTAL_PORT: '0', API_PORT: '0', LAB_PORT: '0' }
  const settings = { ...ports, LAB_TOKEN: token, DATABASE_URL: 'sqlite::memory:' }
  const { sandbox, labUrl } = await onFreePorts(readConfig(settings), async config => {
    const sandbox = await buildSandbox(config, { clock: () => new Date(), logger: pino({ level: 'silent' }) })
    await startSandbox(sandbox, config)
    return { sandbox, labUrl: config.lab!.urls[0]! }
  })
  t.teardown(() => sandbox.close())
  return labUrl
}

/** Returns the reason why a program cannot be run on this machine, or false if the program can be run. */
async function whyNot(program: string): Promise<string | false> {
  const isThere = await run(program, ['--version']).then(
    () => true,
    () => false,
  )
  return isThere ? false : `there is no ${program} on this machine`
}

const sessions = [
  { heading: 'In a shell', language: 'sh', skip: await whyNot('curl'), command: ['sh', '-euc'] },
  { heading: 'In Python', language: 'py', skip: await whyNot('python3'), command: ['python3', '-c'] },
] as const

async function runSessions(t: Test, env: Record<string, string>): Promise<void> {
  const outcomes = sessions.map(async ({ heading, language, skip, command: [file, option] }) => {
    const { program, printed } = sessionUnder(heading, language)
    const settings = { PATH: process.env.PATH, ...env }
    const { stdout, stderr } = skip ? { stdout: '', stderr: '' } : await run(file, [option, program], { env: settings })
    return { heading, skip, printed, output: stdout + stderr }
  })
  for (const { heading, skip, printed, output } of await Promise.all(outcomes))
    t.equal(output, printed, heading, { skip })
}

t.test(
  'all example sessions, run at the same time on one sandbox, print exactly the output that docs/clients-in-other-languages.md shows',
  async t => {
    await runSessions(t, { LAB: await startWithLab(t) })
  },
)

t.test('if the laboratory has a token, the example sessions send the token', async t => {
  const token = 'a-token-that-is-long-enough'
  await runSessions(t, { LAB: await startWithLab(t, token), LAB_TOKEN: token })
})
