// A person's browser in front of both applications.
import type { Test } from 'tap'
import { startBoth } from '../../journey/support/start-both.ts'
import { openPage, type PageSettings } from '../../support/open-page.ts'
import { signIn } from './sign-in.ts'

type Settings = NonNullable<Parameters<typeof startBoth>[1]> & {
  /** Where the visitor stands, signed in; left out, nothing is open yet. */
  at?: string
  browser?: PageSettings
}

export async function startVisit(t: Test, { at, browser: options = {}, ...settings }: Settings = {}) {
  const both = await startBoth(t, settings)
  const { context, page, troubles } = await openPage(t, options)
  if (at) await signIn(page, both, at)
  return { ...both, both, context, page, troubles }
}
