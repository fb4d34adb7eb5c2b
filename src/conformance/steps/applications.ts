// Creates applications and groups for a person, and reads the client's pages that show applications.
import type { LabStep } from '../../sandbox/lab/record/recorded.ts'
import type { Browser, Page } from '../browser/browser.ts'
import { NotApplicable, Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import type { Person } from '../platform.ts'
import { jsonOf } from '../tokens.ts'

/** Opens the page behind the login, and the linked pages below its path. */
export async function visitListAndLinks(context: CheckContext, signedIn?: Browser): Promise<Page[]> {
  const browser = signedIn ?? (await context.signedIn()).browser
  const there = context.url(context.settings.page)
  const first = await browser.visit(there)
  const below = [...new Set(first.links.map(({ url }) => url.split('#')[0]!))].filter(
    url => url.startsWith(`${there}/`) || url.startsWith(`${there}?`),
  )
  const pages = [first]
  for (const url of below.slice(0, 4)) pages.push(await browser.visit(url, { from: first }))
  return pages
}

/**
 * Ends the check if no page shows `what`. If a page has shown `what` in another check, this check is undecided.
 * Otherwise this check does not apply.
 */
export function requireShown({ platform }: CheckContext, what: string, isThere: boolean): void {
  if (isThere) platform.shown.add(what)
  else if (platform.shown.has(what))
    throw new Undecided(`No page shows ${what}, although a page has shown this in another check.`)
  else throw new NotApplicable(`no page shows ${what}`)
}

/** The values of an application if a check chooses no other values. */
export const applicationName = 'Weather of conformance'
export const redirectUri = 'https://made.example/callback'

interface NewApplication {
  '@id': string
  client: { clientSecrets: string[] }
  tokens: { token: string }[]
}

/** Creates an application of this person at the API, and returns the id of the application. */
export async function makeApplication(
  context: CheckContext,
  person: Person,
  fields: Record<string, string> = {},
): Promise<string> {
  return (await createAtApi(context, person, fields))['@id']
}

/** Creates an application of this person at the API, and returns the answer of the API. */
export async function createAtApi(
  context: CheckContext,
  person: Person,
  fields: Record<string, string> = {},
): Promise<NewApplication> {
  const token = await context.platform.tokenOf(person)
  const empty = { description: '', webPageUrl: '', iconUrl: '', privacyPolicyUrl: '', scopes: '', defaultScopes: '' }
  const data = { ...empty, name: applicationName, redirectUris: redirectUri, groupId: person.groupId, ...fields }
  const { statusCode, body } = await context.platform.callApi(token, 'POST', '/apps/v1', data)
  if (statusCode !== 201) throw new Error(`The API did not create the application: ${body}`)
  return JSON.parse(body) as NewApplication
}

/** Returns the client secrets and the app access tokens in this answer from the API. */
export function credentialsOf(step: LabStep): { clientSecrets: string[]; tokens: string[] } {
  const { client, clientSecret, tokens } = jsonOf(step)
  const ofClient = (client as { clientSecrets?: unknown } | null | undefined)?.clientSecrets
  const isText = (value: unknown) => typeof value === 'string'
  return {
    clientSecrets: [...listOf(ofClient), clientSecret].filter(isText),
    tokens: listOf(tokens)
      .map(one => (one as { token?: unknown } | null)?.token)
      .filter(isText),
  }
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** Creates another group of the person at the API, and returns the id of the group. */
export async function makeGroup({ platform }: CheckContext, person: Person, name: string): Promise<string> {
  const token = await platform.tokenOf(person)
  const { statusCode, body } = await platform.callApi(token, 'POST', '/identities/v1', {
    context: 'https://standards.oftrust.net/v2/Context/Identity/Group/',
    type: 'Group',
    data: { name },
  })
  if (statusCode !== 201) throw new Error(`The API did not create the group: ${body}`)
  return (JSON.parse(body) as { '@id': string })['@id']
}

/** Makes a group with these members, and returns its id. The first member is the creator of the group. */
export async function shareGroup({ platform }: CheckContext, members: Person[], name?: string): Promise<string> {
  const group = { members: members.map(({ id }) => id), ...(name && { name }) }
  const { statusCode, body } = await platform.askLab('POST', '/lab/v1/groups', group)
  if (statusCode !== 201) throw new Error(`The laboratory made no group: ${body}`)
  return (JSON.parse(body) as { groupId: string }).groupId
}
