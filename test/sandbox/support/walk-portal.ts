// Leads a browser to every page of the portal, and to every variant of a page that looks different.
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { createGroup } from '../../../src/sandbox/store/groups.ts'
import { deleteInvitation, insertInvitation } from '../../../src/sandbox/store/invitations.ts'
import { addMember } from '../../../src/sandbox/store/memberships.ts'
import { exchange } from './browser.ts'
import { seeded } from './build-test-sandbox.ts'
import { callWith, makeCreateBody } from './call-api.ts'
import { addUsers } from './fill-groups.ts'
import type { OpenPortal } from './open-portal.ts'

const longName = `A very long name ${'Donaudampfschifffahrtsgesellschaft'.repeat(3)} with an end`
const newPassword = 'a password nobody had before'
const paragraph = 'What an application says about itself, in a few sentences. '.repeat(12)

/** Opens each page of the portal, and calls `look` there with a name for the page. */
export async function walkPortal(portal: OpenPortal, page: Page, look: (name: string) => Promise<void>): Promise<void> {
  const { sandbox, portalUrl, startUrl } = portal
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const go = (path: string) => page.goto(`${portalUrl}${path}`)

  await go('/?client_id=nobody')
  await look('error')
  await go('/nowhere')
  await look('not-found')
  await go('/terms')
  await look('terms')

  await page.goto(startUrl)
  await look('sign-in')
  const signIn = async () => {
    await page.getByLabel('E-mail').first().fill('nobody@example.test')
    await page.getByLabel('Password').first().fill('wrong password')
    await press('Sign in')
  }
  await page.context().clearCookies()
  await signIn()
  await look('cookies-missing')
  await page.getByRole('link', { name: 'Try again' }).click()
  await signIn()
  await look('sign-in-refused')
  await walkReset(portal, page, look)
  await page.goto(startUrl)

  await page.getByRole('link', { name: 'Create an account' }).click()
  await look('sign-up')
  await page.locator('[action="/sign-up"]').evaluate((form: { noValidate: boolean }) => {
    form.noValidate = true
  })
  await press('Create account')
  await look('sign-up-refused')
  await fillSignUp(page, 'walker@example.test')
  await press('Create account')
  await look('consent')
  await sandbox.store.write(db =>
    db
      .updateTable('applications')
      .set({
        name: longName,
        description: paragraph,
        web_page_url: 'https://example.test/',
        privacy_policy_url: 'https://example.test/privacy',
      })
      .execute(),
  )
  await page.reload()
  await look('consent-long')

  await go('/account')
  await look('account')
  await go('/account/groups')
  await look('groups-none')
  await go('/account/token')
  await look('token-no-group')
  await press('Create access token')
  await look('token-shown-no-group')
  await go('/account/applications')
  await look('applications-none')

  await go('/account/groups')
  await page.getByLabel('Name').evaluate((input: { required: boolean }) => {
    input.required = false
  })
  await press('Create group')
  await look('groups-refused')
  for (const name of ['Weather', longName]) {
    await page.getByLabel('Name').fill(name)
    await press('Create group')
  }
  await look('groups-created')
  await walkGroups(portal, page, look)
  await go('/account/token')
  await look('token')
  await press('Create access token')
  await look('token-shown')
  await go('/account/token/revoke-all')
  await look('tokens-end')
  await go('/account/token')
  await page
    .getByRole('link', { name: /^Revoke this token/ })
    .first()
    .click()
  await look('token-end')
  await press('Revoke the token')
  await look('token-ended')

  await page.goto(startUrl)
  await press('Allow')
  await page.getByRole('heading', { name: 'Client' }).waitFor()
  await go('/account/applications')
  await look('applications')
  await makeThroughClient(portal)
  await page.getByRole('link', { name: /^Withdraw/ }).click()
  await look('withdraw')
  await press('Withdraw access')
  await page.locator('summary', { hasText: 'unknown applications' }).click()
  await look('applications-withdrawn')
  await press('New secret for Weather')
  await look('secret-shown')
  await page.getByRole('link', { name: 'I have stored it' }).click()
  await page.getByRole('link', { name: `Remove ${longName}` }).click()
  await look('remove-application')
  await press('Remove permanently')
  await page.getByRole('link', { name: 'Revoke the secret of Mine' }).click()
  await look('remove-secret')

  await go('/account')
  await look('account-full')
  await go('/account/sign-out-everywhere')
  await look('sign-out-everywhere')
  await go('/account/password')
  await look('password')
  await page.getByLabel('Current password').fill('wrong password')
  await page.getByLabel('New password').fill(newPassword)
  await press('Change password')
  await look('password-refused')
  await page.getByLabel('Current password').fill(seeded.password)
  await page.getByLabel('New password').fill(newPassword)
  await press('Change password')
  await look('password-changed')
  await go('/sign-out')
  await look('sign-out')
  await page.getByRole('button', { name: 'Sign out' }).last().click()
  await look('signed-out')
  await go('/sign-out')
  await look('sign-out-nobody')
  await go('/account')
  await look('account-sign-in')
}

/** Resets a forgotten password. The link for the reset is in the mailbox, which is a page of the laboratory. */
async function walkReset({ portalUrl }: OpenPortal, page: Page, look: (name: string) => Promise<void>): Promise<void> {
  await page.getByRole('link', { name: 'Forgot your password?' }).click()
  await look('forgot-password')
  await page.getByLabel('E-mail').fill('no@address@example')
  await page.locator('form').evaluate((form: { noValidate: boolean }) => {
    form.noValidate = true
  })
  await page.getByRole('button', { name: 'Send the link' }).click()
  await look('forgot-password-refused')
  await page.getByLabel('E-mail').fill(seeded.email)
  await page.getByRole('button', { name: 'Send the link' }).click()
  await look('reset-mail-sent')
  await page.getByRole('link', { name: 'Open the mailbox' }).click()
  await look('mailbox')
  await page.getByRole('link', { name: `${portalUrl}/reset-password` }).click()
  await look('reset-password')
  await page.getByLabel('New password').fill(seeded.password)
  await page.getByRole('button', { name: 'Show password' }).click()
  await look('reset-password-shown')
  const link = page.url()
  await page.getByRole('button', { name: 'Change password' }).click()
  await look('password-reset')
  await page.goto(link)
  await look('reset-link-used')
}

/**
 * Opens the pages for groups with received and sent invitations, as the creator and as a member of a group with the
 * name `longName`.
 */
async function walkGroups({ sandbox, portalUrl }: OpenPortal, page: Page, look: (name: string) => Promise<void>) {
  const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  await page.goto(`${portalUrl}/account`)
  const walkerId = await page.locator('code.id').first().innerText()
  const [makerId = '', ...otherIds] = await addUsers(sandbox, 4, `${'a-long-address-of-somebody-'.repeat(3)}`)
  const invitation = { createdAt: sandbox.now(), createdBy: makerId }
  const foreignId = await sandbox.store.transaction(async db => {
    const { id } = await createGroup(db, `${longName} of others`, makerId, sandbox.now())
    for (const userId of [walkerId, ...otherIds])
      await insertInvitation(db, { ...invitation, id: randomUUID(), groupId: id, userId })
    return id
  })
  await page.reload()
  await look('account-invited')
  await page.goto(`${portalUrl}/account/groups`)
  await look('groups-invited')
  await press(/^Accept/)
  await look('groups-joined')
  await page.goto(`${portalUrl}/account/groups/${foreignId}`)
  await look('group-of-others')
  const open = (name: string | RegExp) => page.locator('summary', { hasText: name }).click()
  await page.getByRole('link', { name: 'Leave the group' }).click()
  await look('group-leave')
  await press('Leave the group')
  await look('groups-left')

  await page.getByRole('link', { name: longName, exact: true }).click()
  await look('group')
  await open('Invite someone')
  await page.getByLabel('User ID').fill('nobody')
  await press('Send invitation')
  await look('group-refused')
  await page.getByLabel('User ID').fill(makerId)
  await press('Send invitation')
  await look('group-invited')
  await sandbox.store.transaction(async db => {
    const groupId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    await deleteInvitation(db, groupId, makerId)
    await addMember(db, { id: randomUUID(), groupId, userId: makerId, addedBy: walkerId, now: sandbox.now() })
  })
  await page.reload()
  await look('group-of-two')
  await page.getByRole('link', { name: /^Remove/ }).click()
  await look('group-remove-member')
  await press(/^Remove/)
  await look('group-member-removed')
  await open('Rename')
  await look('group-rename')
  await press('Save the name')
  await look('group-renamed')
}

/**
 * Fills in the form for a new account. On the sign-in page, a link leads to this form. After a refused sign-up, the
 * page shows the form without this link.
 */
export async function fillSignUp(page: Page, email: string): Promise<void> {
  const link = page.getByRole('link', { name: 'Create an account' })
  if (await link.isVisible()) await link.click()
  const form = page.locator('[action="/sign-up"]')
  await form.getByLabel('E-mail').fill(email)
  await form.getByLabel('Password').fill(seeded.password)
  await form.getByLabel('First name').fill('Maximiliane')
  await form.getByLabel('Last name').fill('von Hohenfels')
  await form.getByLabel('I accept').check()
}

/**
 * Makes applications and secrets on the user's behalf, as the client of the last login. Also makes one secret without a
 * known creator.
 */
export async function makeThroughClient({ sandbox, clientUrl, arrivals }: OpenPortal): Promise<void> {
  const arrival = arrivals.findLast(({ url }) => url.includes('code='))
  const { searchParams } = new URL(arrival?.url ?? '', clientUrl)
  const [code, state] = [searchParams.get('code') ?? '', searchParams.get('state') ?? '']
  const tokens = await exchange(sandbox, { code, state, redirect_uri: `${clientUrl}/exchangeToken` })
  const { call, userId } = await callWith(sandbox, tokens.json().access_token)
  const [group] = (await call('GET', `/identities/v1/${userId}/links?type=MemberOf`)).json().ItemList
  const make = async (name: string): Promise<string> =>
    (await call('POST', '/apps/v1', makeCreateBody(group.to, { name }))).json()['@id']
  const isUnknown = { made_by_client: '' }
  const isOwn = { made_by_client: null }
  await make('Weather')
  await make(longName)
  const [old, own] = [await make('Old'), await make('Mine')]
  await sandbox.store.transaction(async db => {
    await db.updateTable('applications').set(isUnknown).where('id', '=', old).execute()
    await db.updateTable('client_secrets').set(isUnknown).where('application_id', '=', old).execute()
    await db.updateTable('applications').set(isOwn).where('id', '=', own).execute()
    await db.updateTable('client_secrets').set(isOwn).where('application_id', '=', own).execute()
  })
  await call('POST', `/apps/v1/${own}/refreshSecret`)
}
