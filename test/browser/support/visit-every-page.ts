// Opens every page of the client. If a page has several states that look different, it is opened in each state.
import type { Page } from 'playwright-core'
import { addApplication, addGroup, addPerson, changeApplication } from '../../journey/support/add-person.ts'
import type { Both } from '../../journey/support/start-both.ts'
import { openOptionalFields } from './open-optional-fields.ts'
import { enterPassword, signIn } from './sign-in.ts'

/** The values for the form of an application. */
export const usualWords = {
  name: 'Weather station',
  description: 'Shows the weather of the last ten years at any place.\nFree for everyone.',
  webPageUrl: 'https://weather.example.test/',
  redirectUris: 'http://localhost:5000/exchangeToken, https://weather.example.test/exchangeToken',
  scopes: 'weather:read weather:write',
}

const unbroken = (begin: string, length: number) => begin.padEnd(length, 'Wetterstationsdatenverarbeitung')

/** Very long values that the application API accepts. They contain almost no spaces. */
export const longestWords: typeof usualWords = {
  name: unbroken('', 200),
  description: `${unbroken('', 1_000)} ${unbroken('', 900)}`,
  webPageUrl: unbroken('https://weather.example.test/', 2_000),
  redirectUris: [1, 2].map(number => unbroken(`https://weather${number}.example.test/`, 1_900)).join(', '),
  scopes: unbroken('', 1_000),
}

/**
 * Opens each page, and calls `look` with a name for the page. The visitor begins without a session. The last page is
 * the error page that appears if the application API does not respond.
 */
export async function visitEveryPage(
  page: Page,
  both: Both,
  words: typeof usualWords,
  look: (name: string) => Promise<void>,
): Promise<void> {
  const { publicUrl, lab } = both
  const visit = async (name: string, path: string) => {
    await page.goto(publicUrl + path)
    await look(name)
  }
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const follow = (name: string) => page.getByRole('link', { name, exact: true }).click()
  /** Returns the path of the page that is open. */
  const here = () => new URL(page.url()).pathname

  await visit('home', '/')
  await follow('Sign in')
  await enterPassword(page, both.person)
  await press('Decline')
  await look('cancelled')
  await visit('sign-in-incomplete', '/exchangeToken')
  await visit('not-found', '/nowhere')
  await visit('unreadable-address', '/applications/%E0%A4%A')

  // The page at the callback opens the next page automatically. If the answer to the request for the next page is 204,
  // the browser stays on the page at the callback.
  await page.route('**/applications', route => route.fulfill({ status: 204 }))
  await page.goto(`${publicUrl}/login`)
  await press('Allow')
  await page.getByRole('heading', { name: 'One moment' }).waitFor()
  await look('one-moment')
  await page.unroute('**/applications')

  await addApplication(both, { name: 'Library card', description: 'Borrows, returns and extends, without the card.' })
  await addApplication(both, { name: 'Bus times', description: 'When the next one leaves, and from where.' })
  await addApplication(both, { name: words.name, description: words.description })
  await visit('home-signed-in', '/')
  await visit('list', '/applications')
  await visit('list-nothing-found', '/applications?q=nowhere')
  await visit('list-by-name', '/applications?sort=name')
  for (let index = 1; index <= 60; index++) await addApplication(both, { name: `${words.name.slice(0, 190)} ${index}` })
  await visit('list-pages', '/applications?page=2')

  await visit('new', '/applications/new')
  await fill(page, { ...words, redirectUris: 'http://example.test/not-https' })
  await press('Create application')
  await page.getByRole('alert').waitFor()
  await look('new-refused')
  await fill(page, words)
  await press('Create application')
  await page.getByText('Copy these credentials now').waitFor()
  await look('credentials')
  await follow('Done')
  await look('application')
  const application = here()
  // The application is created, but the answer is lost, so the visitor sends the form again.
  await page.goto(`${publicUrl}/applications/new`)
  await fill(page, { ...words, name: `${words.name.slice(0, 190)} again` })
  await lab.order('create-reset-after')
  await press('Create application')
  await page.getByRole('alert').waitFor()
  await press('Create application')
  await page.getByText('created after you opened the form').waitFor()
  await look('application-created-earlier')
  await visit('application-gone', '/applications/00000000-0000-4000-8000-000000000000')

  await visit('edit', `${application}/edit`)
  await fill(page, { ...words, redirectUris: 'http://example.test/not-https' })
  await press('Save changes')
  await page.getByRole('alert').waitFor()
  await look('edit-refused')
  await fill(page, words)
  await press('Save changes')
  await page.getByText('Your changes are saved.').waitFor()
  await look('application-saved')
  await page.goto(`${publicUrl}${application}/edit`)
  const description = `${words.description} Changed by somebody else.`
  await changeApplication(both, application.split('/').at(-1)!, { description, webPageUrl: '' })
  await fill(page, {
    ...words,
    name: `${words.name.slice(0, 190)} 2`,
    description: `${words.description} Changed here.`,
  })
  await press('Save changes')
  await page.getByText('Nothing is saved yet').waitFor()
  await look('edit-overtaken')
  await page.goto(publicUrl + application)
  await follow('Create new client secret…')
  await look('secret')
  await press('Create new client secret')
  await page.getByText('Copy these credentials now').waitFor()
  await look('new-client-secret')

  await visit('remove-this-site', `/applications/${both.clientId}/delete`)
  await page.getByLabel(/to confirm$/).fill('Something else')
  await press('Remove application')
  await page.getByRole('alert').waitFor()
  await look('remove-this-site-refused')

  const forgetSession = () => page.context().clearCookies({ name: /^__Host-(session|refresh)/ })
  await visit('remove', `${application}/delete`)
  await forgetSession()
  await press('Remove application')
  await look('remove-session-ended')
  await follow('Sign in and continue')
  await press('Remove application')
  await page.getByText('The application has been removed').waitFor()
  await look('list-removed')

  await addGroup(both)
  await visit('new-choice-of-groups', '/applications/new')
  await fill(page, { ...usualWords, name: words.name })
  await page.getByLabel('Group').selectOption({ index: 1 })
  await forgetSession()
  await press('Create application')
  await look('new-session-ended')
  await follow('Sign in and continue')
  await page.getByText('This is what you typed').waitFor()
  await look('new-as-typed')
  await fill(page, { ...longestWords, name: words.name })
  await forgetSession()
  await press('Create application')
  await page.getByText('Sign in (new tab)').waitFor()
  await look('new-too-long-to-keep')

  await page.goto(publicUrl)
  await page.context().clearCookies({ domain: '127.0.0.1' })
  const another = await addPerson(both, 'another@example.test', { groups: 0 })
  await signIn(page, both, '/applications', another)
  await look('list-empty')
  await visit('new-without-group', '/applications/new')
  await page.getByLabel('Name of your group').fill('Weather people')
  await fill(page, { ...usualWords, redirectUris: 'http://example.test/not-https' })
  await press('Create application')
  await page.getByRole('alert').waitFor()
  await look('new-without-group-refused')
  await press('Sign out')
  await page.getByText('You are signed out.').waitFor()
  await look('home-signed-out')
  await visit('signed-out', '/applications')

  await follow('Sign in')
  await page.getByText('No applications yet').waitFor()
  await lab.order('api-reset', { times: 'always' })
  await visit('api-down', '/applications')
}

async function fill(page: Page, words: typeof usualWords): Promise<void> {
  await openOptionalFields(page)
  await page.getByLabel(/^Name( of the application)?$/).fill(words.name)
  await page.getByLabel('Description').fill(words.description)
  await page.getByLabel('Web page').fill(words.webPageUrl)
  await page.getByLabel('Redirect URIs').fill(words.redirectUris)
  await page.getByLabel(/^Scopes/).fill(words.scopes)
}
