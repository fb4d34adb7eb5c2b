// Tests the pages that describe the calls to the API and to the portal. Like a developer, the tests copy the example
// commands and run them.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import { findViolations } from '../../support/find-violations.ts'
import { skip } from '../../support/launch-chromium.ts'
import { openPage } from '../../support/open-page.ts'
import { seeded } from '../support/build-test-sandbox.ts'
import { type OpenPortal, openPortal } from '../support/open-portal.ts'

const run = promisify(execFile)

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail').first().fill(seeded.email)
  await page.locator('#password').fill(seeded.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Follows the API page's link to the portal, makes a token there as the seeded user, and returns the token. */
async function getToken(page: Page): Promise<string> {
  await page.getByRole('link', { name: 'Create an access token in the login portal' }).click()
  await signIn(page)
  await page.getByRole('button', { name: 'Create access token' }).click()
  return page.locator('pre .id').innerText()
}

/** Returns the example command and the example answer of each call, keyed by the id of the call. */
async function readExamples(page: Page) {
  return (await page.evaluate(`Object.fromEntries([...document.querySelectorAll('.call:has(.example)')].map(call => [
    call.querySelector('h3').id,
    { command: call.querySelector('.example code').innerText, answer: call.querySelector('.response code')?.textContent },
  ]))`)) as Record<string, { command: string; answer: string | undefined }>
}

/** Runs the unchanged command in a shell, and resolves to the answer. */
async function answerTo(command: string, variables: Record<string, string>) {
  const env = { PATH: process.env.PATH, ...variables }
  const { stdout } = await run('sh', ['-c', `${command} -w '\\n%{http_code}'`], { env })
  const [, body = '', status] = stdout.match(/^(.*)\n(\d+)$/s) ?? []
  return { status: Number(status), body: body === '' ? undefined : JSON.parse(body) }
}

/** Returns the fields of a value with their types. For a list, the function returns the fields of the first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]))
}

t.test(
  'every example command on the API’s page works unchanged, and the real answer has the same fields as the example answer',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page, troubles } = await openPage(t)
    await page.goto(portal.apiUrl)
    await page.getByRole('link', { name: 'Read how each call works' }).click()
    const examples = await readExamples(page)
    const TOKEN = await getToken(page)
    const me = await fetch(`${portal.portalUrl}/api/me`, { headers: { authorization: `Bearer ${TOKEN}` } })
    const variables: Record<string, string> = { TOKEN, USER_ID: ((await me.json()) as { '@id': string })['@id'] }
    const check = async (id: string, status: number) => {
      const { command = '', answer } = examples[id] ?? {}
      const { status: got, body } = await answerTo(command, variables)
      t.equal(got, status, id)
      if (status < 300 && answer) t.strictSame(shapeOf(body), shapeOf(JSON.parse(answer)), `the answer to ${id}`)
      return body
    }
    variables.GROUP_ID = (await check('listMemberships', 200)).ItemList[0].to
    await check('listApplications', 200)
    variables.APP_ID = (await check('createApplication', 201))['@id']
    await check('createGroup', 201)
    await check('getApplication', 200)
    await check('updateApplication', 200)
    await check('refreshSecret', 201)
    // The user is already a member of the group. And the group has applications, so its last member cannot leave.
    await check('linkUser', 409)
    await check('unlinkUser', 409)
    await check('removeApplication', 204)
    t.equal(Object.keys(examples).length, 10, 'the page must have no other call')
    t.strictSame(troubles, [])
  },
)

t.test(
  'the example commands on the portal’s page, run one after the other, perform a whole login',
  { skip },
  async t => {
    const portal = await openPortal(t)
    const { page } = await openPage(t)
    const verifier = 'a'.repeat(43)
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    await page.goto(`${portal.portalUrl}/api/docs`)
    const examples = await readExamples(page)
    const variables: Record<string, string> = {
      CLIENT_ID: seeded.clientId,
      CLIENT_SECRET: seeded.clientSecret,
      REDIRECT_URI: `${portal.clientUrl}/exchangeToken`,
      CANCEL_URL: `${portal.clientUrl}/cancelled`,
      STATE: 'a state of the test',
      CODE_CHALLENGE: challenge,
      CODE_VERIFIER: verifier,
      EMAIL: seeded.email,
      PASSWORD: seeded.password,
    }
    const start = (examples.startLogin?.command ?? '')
      .replaceAll(/\s/g, '')
      .replaceAll(/=([A-Z_]+)(?=&|$)/g, (_, name: string) => `=${encodeURIComponent(variables[name] ?? '')}`)
    await page.goto(start)
    await signIn(page)
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Client' }).waitFor()
    variables.CODE = new URL(page.url()).searchParams.get('code') ?? ''
    const check = async (id: string, status: number) => {
      const { command = '', answer } = examples[id] ?? {}
      const { status: got, body } = await answerTo(command, variables)
      t.equal(got, status, id)
      if (answer) t.strictSame(shapeOf(body), shapeOf(JSON.parse(answer)), `the answer to ${id}`)
      return body
    }
    variables.TOKEN = (await check('exchangeToken', 200)).access_token
    variables.USER_ID = (await check('me', 200))['@id']
    await check('authorizeApplication', 200)
    await check('authorize', 200)
    await check('metadata', 200)
    await check('keys', 200)
    await check('register', 201)
    await check('revokeToken', 200)
  },
)

t.test(
  'the pages that describe the calls pass axe-core without JavaScript, skip no heading level, and never scroll sideways',
  { skip },
  async t => {
    const { apiUrl, portalUrl } = await openPortal(t)
    for (const javaScriptEnabled of [true, false]) {
      const { page, troubles } = await openPage(t, { javaScriptEnabled })
      for (const address of [apiUrl, `${apiUrl}/apps/v1/docs`, `${portalUrl}/api/docs`]) {
        await page.goto(address)
        for (const { colorScheme, width } of [
          { colorScheme: 'dark', width: 1280 },
          { colorScheme: 'light', width: 320 },
        ] as const) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme })
          if (javaScriptEnabled) t.strictSame(await findViolations(page), [], `${address}, ${colorScheme}`)
          const scrollWidth = (await page.evaluate('document.documentElement.scrollWidth')) as number
          t.ok(scrollWidth <= width, `${address} is ${scrollWidth} pixels wide`)
        }
        const levels = (await page.evaluate(
          `[...document.querySelectorAll('h1, h2, h3, h4')].map(heading => Number(heading.tagName[1]))`,
        )) as number[]
        const skipped = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)
        t.strictSame(skipped, [], `${address}: ${levels.join()}`)
        const copyButtons = await page.getByRole('button', { name: /^Copy/ }).count()
        t.equal(copyButtons > 0, javaScriptEnabled, 'the page must have copy buttons only if they work')
      }
      t.strictSame(troubles, [])
    }
  },
)

t.test(
  'on the pages that describe the calls, every link to a part of the same page has a target',
  { skip },
  async t => {
    const { apiUrl, portalUrl }: OpenPortal = await openPortal(t)
    const { page } = await openPage(t)
    for (const address of [`${apiUrl}/apps/v1/docs`, `${portalUrl}/api/docs`]) {
      await page.goto(address)
      const targets = (await page.evaluate(
        `[...document.querySelectorAll('main a[href^="#"]')].map(link => link.getAttribute('href').slice(1))`,
      )) as string[]
      t.ok(targets.length > 20)
      const missing = await page.evaluate(`${JSON.stringify(targets)}.filter(id => !document.getElementById(id))`)
      t.strictSame(missing, [], address)
    }
  },
)
