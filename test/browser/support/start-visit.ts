// A person's browser in front of both applications.
import type { Browser, BrowserContextOptions } from 'playwright-core'
import file, { type Test } from 'tap'
import { startBoth } from '../../journey/support/start-both.ts'
import { launchChromium, openPage } from './launch-chromium.ts'
import { signIn } from './sign-in.ts'

type Settings = NonNullable<Parameters<typeof startBoth>[1]> & {
  /** Where the visitor stands, signed in; left out, nothing is open yet. */
  at?: string
  browser?: BrowserContextOptions
}

/** One Chromium for all tests of a file, since starting it takes longest; every visit has a jar of its own. */
let chromium: Promise<Browser> | undefined

export async function startVisit(t: Test, { at, browser: options = {}, ...settings }: Settings = {}) {
  const both = await startBoth(t, settings)
  chromium ??= launchChromium(file)
  const { context, page, troubles } = await openPage(await chromium, options)
  t.teardown(() => context.close())
  if (at) await signIn(page, both, at)
  return { ...both, both, context, page, troubles }
}
