// Makes each kind of call fail once, so that a run contains these failures even if it consists of few checks.
import { type CheckContext, readStart } from '../../context.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { visitPage } from '../../steps/sessions.ts'
import { signOut } from '../../steps/sign-out.ts'

/**
 * Signs in and makes each kind of call fail, so that these failures happen even if no other check has run. The checks
 * of this group judge the whole round. If one of these checks has already called this function in the round, the
 * function does nothing.
 */
export async function failEachCall(context: CheckContext): Promise<void> {
  const { platform, settings } = context
  if (platform.eachCallFailed.isDone) return
  if (settings.page) {
    const earlier = await context.signedIn()
    if (settings.create) await earlier.browser.visit(context.url(settings.create), context.beforePortal)
    context.forgetPeople()
  }
  const { browser, callback } = await beginLogin(context)
  const landed = await followCallback(context, browser, callback)
  if (settings.page) {
    await visitPage(context, browser)
    if (settings.create) await browser.newTab().visit(context.url(settings.create), context.beforePortal)
    await platform.endAccessTokens(await context.person())
    await visitPage(context, browser)
    await context.order('list-500', { times: 1 })
    await visitPage(context, browser)
    await context.dropFaults()
    await platform.endAccessTokens(await context.person())
    await context.order('refresh-503', { times: 2 })
    await visitPage(context, browser)
    await context.dropFaults()
    await visitPage(context, browser)
  }
  if (settings.logout) {
    await context.order('revoke-503', { times: 1 })
    await signOut(context, browser, landed)
    await context.dropFaults()
  }
  // Begins a login as if a link on another site had led to the client.
  const guest = context.browser()
  const elsewhere = guest.show(platform.otherSite.url('/'), '')
  const begun = await guest.visit(context.url(settings.login), { from: elsewhere, ...context.beforePortal })
  if (begun.stoppedAt !== undefined) {
    await followCallback(context, guest, await context.authorize(readStart(begun)))
  }
  const other = await beginLogin(context)
  await context.order('exchange-400', { times: 1, options: { error: 'invalid_grant' } })
  await followCallback(context, other.browser, other.callback)
  await context.dropFaults()
  // Sends a method that the path does not support.
  for (const path of [settings.login, settings.page, settings.create])
    if (path) await context.request(path, { method: 'PUT' })
  await platform.settle(300)
  platform.eachCallFailed.isDone = true
}
