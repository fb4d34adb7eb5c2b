// Bad requests to the application API.
import type { LightMyRequestResponse } from 'fastify'
import { contexts } from '../../../src/sandbox/values/contexts.ts'
import { getAccessToken } from '../support/browser.ts'
import type { TestSandbox } from '../support/build-test-sandbox.ts'
import { type ApiCaller, callAsDeveloper, callAsStranger, callFromPortal, makeCreateBody } from '../support/call-api.ts'
import { openAsDeveloper } from '../support/forms.ts'
import {
  type BadRequest,
  badContentTypes,
  badIds,
  badJsonBodies,
  badRedirectUris,
  badTexts,
  badValues,
  changeFields,
  methods,
} from './bad-values.ts'

const dayMs = 86_400_000

export interface ApiScene {
  /** An access token for each kind of caller, and an expired access token. */
  tokens: { developer: string; portal: string; stranger: string; application: string; expired: string }
  ids: { app: string; group: string; developer: string; stranger: string; othersGroup: string }
}

export async function setApiScene(sandbox: TestSandbox): Promise<ApiScene> {
  const expired = await getAccessToken(sandbox)
  sandbox.passTime(2 * dayMs)
  const developer = await callAsDeveloper(sandbox)
  const portal = await callFromPortal(sandbox, await openAsDeveloper(sandbox))
  const stranger = await callAsStranger(sandbox)
  const created = idsOf(await developer.call('POST', '/apps/v1', makeCreateBody(developer.groupId)))
  const group = { context: contexts.Group, type: 'Group', data: { name: 'Others' } }
  const others = (await stranger.call('POST', '/identities/v1', group)).json()
  return {
    tokens: {
      developer: developer.accessToken,
      portal: portal.accessToken,
      stranger: stranger.accessToken,
      application: created.token,
      expired,
    },
    ids: {
      app: created.id,
      group: developer.groupId,
      developer: developer.userId,
      stranger: (stranger as ApiCaller).userId,
      othersGroup: others['@id'],
    },
  }
}

function idsOf(answer: LightMyRequestResponse): { id: string; token: string } {
  const { '@id': id, tokens } = answer.json()
  return { id, token: tokens[0].token }
}

/** A call that the API accepts. The functions below change it into bad requests. */
interface Call {
  title: string
  method: string
  url: string
  token: string
  fields: Record<string, unknown>
  /** The envelope around the fields. Empty if the call has no envelope. */
  envelope: Record<string, unknown>
  /** Whether the call also accepts the fields without the envelope. */
  isFlatToo: boolean
}

export function* apiRequests({ tokens, ids }: ApiScene): Generator<BadRequest> {
  const app = `/apps/v1/${ids.app}`
  const link = `/identities/v1/${ids.stranger}/link/${ids.group}`
  const { groupId, ...changed } = makeCreateBody(ids.group).data
  const ofApp = { context: contexts.App, type: 'App' }
  const create: Call = {
    title: 'create an application',
    method: 'POST',
    url: '/apps/v1',
    token: tokens.developer,
    fields: { groupId, ...changed },
    envelope: ofApp,
    isFlatToo: true,
  }
  const update: Call = { ...create, title: 'update an application', method: 'PUT', url: app, fields: changed }
  const makeGroup: Call = {
    ...create,
    title: 'make a group',
    url: '/identities/v1',
    fields: { name: 'Weather people' },
    envelope: { context: contexts.Group, type: 'Group' },
    isFlatToo: false,
  }
  const invite: Call = {
    ...makeGroup,
    title: 'invite somebody',
    url: link,
    token: tokens.portal,
    fields: {},
    envelope: { context: contexts.MemberOf, type: 'MemberOf' },
  }
  for (const call of [create, update, makeGroup, invite]) {
    yield* badFields(call)
    yield* badBodies(call)
    yield* badTokens(call, tokens)
  }
  yield* badApplications(create, ids)
  yield* badApplications(update, ids)
  const bodiless: [title: string, method: string, url: string, token: string][] = [
    ['list applications', 'GET', '/apps/v1', tokens.developer],
    ['get an application', 'GET', app, tokens.developer],
    ['remove an application', 'DELETE', app, tokens.developer],
    ['make a secret', 'POST', `${app}/refreshSecret`, tokens.developer],
    ['unlink somebody', 'DELETE', link, tokens.portal],
    ['list groups', 'GET', `/identities/v1/${ids.developer}/links?type=MemberOf`, tokens.developer],
  ]
  for (const [title, method, url, token] of bodiless)
    yield* badTokens({ title, method, url, token, fields: {}, envelope: {}, isFlatToo: false }, tokens)
  yield* badPaths(tokens, ids, { app: envelopeOf(update), link: envelopeOf(invite) })
  yield* badConditions(app, tokens.developer, envelopeOf(update))
  yield* badMethods(tokens.developer, ids)
}

function envelopeOf({ envelope, fields }: Call): string {
  return JSON.stringify({ ...envelope, data: fields })
}

const emoji = { '200 emoji': badValues['200 emoji'], '201 emoji': badValues['201 emoji'] }
const isUrl = (name: string) => name.endsWith('Url') || name.endsWith('Uri') || name.endsWith('Uris')

function* badFields(call: Call): Generator<BadRequest> {
  const { title, method, url, token, fields, envelope, isFlatToo } = call
  const send = (name: string, body: unknown): BadRequest => ({
    name: `${title}: ${name}`,
    method,
    url,
    headers: jsonWith(token),
    payload: JSON.stringify(body),
  })
  for (const name of Object.keys(fields)) {
    const isLong = name === 'description' || name.toLowerCase().endsWith('scopes')
    const values = isUrl(name) || isLong ? badValues : { ...badTexts, ...emoji }
    for (const [words, data] of changeFields(fields, values, [name])) yield send(words, { ...envelope, data })
  }
  for (const [words, changed] of changeFields(envelope, badTexts))
    yield send(`envelope, ${words}`, { ...changed, data: fields })
  for (const [words, value] of Object.entries(badTexts))
    yield send(`envelope, data: ${words}`, { ...envelope, data: value })
  yield send('only the data', { data: fields })
  yield send('without the envelope', fields)
  yield send('an unknown field', { ...envelope, other: 1, data: { ...fields, other: 1, toString: 2 } })
  yield send('every field a number', {
    context: 1,
    type: 2,
    data: Object.fromEntries(Object.keys(fields).map(name => [name, 3])),
  })
  yield send('every field left out', { ...envelope, data: {} })
  if (!isFlatToo) return
  yield send('without the envelope, every field left out', { other: 1 })
  yield send(
    'without the envelope, every field null',
    Object.fromEntries(Object.keys(fields).map(name => [name, null])),
  )
  yield send('without the envelope, another context and type', { context: 5, type: 'Group', ...fields })
  yield send('without the envelope, a bad field', { ...fields, webPageUrl: 'nothing' })
  yield send('without the envelope, with data', { ...fields, data: 5 })
}

function* badBodies({ title, method, url, token }: Call): Generator<BadRequest> {
  for (const [words, payload] of Object.entries(badJsonBodies))
    yield {
      name: `${title}: body, ${words}`,
      method,
      url,
      headers: jsonWith(token),
      ...(payload !== undefined && { payload }),
    }
  for (const [words, type] of Object.entries(badContentTypes))
    yield {
      name: `${title}: content type, ${words}`,
      method,
      url,
      headers: { ...jsonWith(token), 'content-type': type },
      payload: '{}',
    }
}

/**
 * Requests with a bad token and a bad body. The API must refuse the caller, and must not say which fields are wrong.
 */
function* badTokens(call: Call, tokens: ApiScene['tokens']): Generator<BadRequest> {
  const { title, method, url } = call
  const authorizations: Record<string, string | undefined> = {
    'no token': undefined,
    'an empty token': '',
    'only the scheme': 'Bearer',
    'a word': 'Bearer word',
    'another scheme': `Basic ${tokens.developer}`,
    'a broken token': `Bearer ${tokens.developer.slice(0, -6)}aaaaaa`,
    'an expired token': `Bearer ${tokens.expired}`,
    "an application's token": `Bearer ${tokens.application}`,
    "a stranger's token": `Bearer ${tokens.stranger}`,
    "a client's token": `Bearer ${tokens.developer}`,
  }
  const bodies = { 'a bad body': '{"data":{"name":5}}', 'no JSON': '{' }
  for (const [who, authorization] of Object.entries(authorizations))
    for (const [words, payload] of Object.entries(bodies)) {
      if (who === "a client's token" && call.token === tokens.developer) continue
      // The API accepts these calls from a stranger, so leave them out.
      if (who === "a stranger's token" && (url === '/identities/v1' || (method === 'GET' && url === '/apps/v1')))
        continue
      const { authorization: _, ...others } = jsonWith('')
      const headers = { ...others, ...(authorization !== undefined && { authorization }) }
      yield { name: `${title}: ${who} and ${words}`, method, url, headers, ...(method !== 'GET' && { payload }) }
    }
  const withToken = `${url}${url.includes('?') ? '&' : '?'}access_token=${tokens.developer}`
  yield { name: `${title}: a token in the address only`, method, url: withToken }
  yield { name: `${title}: a token in the address, too`, method, url: withToken, headers: jsonWith(tokens.developer) }
}

/** Bad requests that only the calls for applications can get. */
function* badApplications({ title, method, url, token, fields, envelope }: Call, ids: ApiScene['ids']) {
  const send = (name: string, data: object): BadRequest => ({
    name: `${title}: ${name}`,
    method,
    url,
    headers: jsonWith(token),
    payload: JSON.stringify({ ...envelope, data }),
  })
  const { defaultRedirectUri: _, ...others } = fields
  for (const [words, redirectUris] of Object.entries(badRedirectUris)) {
    yield send(`redirectUris, ${words}`, { ...others, redirectUris })
    yield send(`redirectUris with another default, ${words}`, { ...fields, redirectUris })
  }
  yield send('no redirectUris and a bad default', { ...others, redirectUris: 5, defaultRedirectUri: 'bad' })
  yield send('a default that is not among them', { ...fields, defaultRedirectUri: 'https://other.example.test/' })
  for (const [words, groupId] of Object.entries({
    'the group of others': ids.othersGroup,
    'an unknown group': '6f2b1c9e-0000-4000-8000-000000000000',
    'a group of 65 characters': 'x'.repeat(65),
    'a number as group': 5,
    'no group': null,
  })) {
    yield send(words, { ...fields, groupId })
    yield send(`${words} and a bad name`, { ...fields, groupId, name: '' })
  }
}

function* badPaths(
  { developer, portal, stranger }: ApiScene['tokens'],
  ids: ApiScene['ids'],
  bodies: Record<string, string>,
) {
  for (const [words, id] of Object.entries(badIds)) {
    const rows: [title: string, method: string, url: string, token: string, payload?: string][] = [
      ['get an application', 'GET', `/apps/v1/${id}`, developer],
      ['update an application', 'PUT', `/apps/v1/${id}`, developer, bodies.app],
      ['update an application with a bad body', 'PUT', `/apps/v1/${id}`, developer, '{}'],
      ['remove an application', 'DELETE', `/apps/v1/${id}`, developer],
      ['make a secret', 'POST', `/apps/v1/${id}/refreshSecret`, developer],
      ['invite, user', 'POST', `/identities/v1/${id}/link/${ids.group}`, portal, bodies.link],
      ['invite, group', 'POST', `/identities/v1/${ids.stranger}/link/${id}`, portal, bodies.link],
      ['accept, group', 'POST', `/identities/v1/${ids.developer}/link/${id}`, portal, bodies.link],
      ['unlink, user', 'DELETE', `/identities/v1/${id}/link/${ids.group}`, portal],
      ['unlink, group', 'DELETE', `/identities/v1/${ids.stranger}/link/${id}`, portal],
      ['leave, group', 'DELETE', `/identities/v1/${ids.developer}/link/${id}`, portal],
      ['list groups', 'GET', `/identities/v1/${id}/links?type=MemberOf`, developer],
    ]
    for (const [title, method, url, token, payload] of rows)
      yield { name: `path, ${title}: ${words}`, method, url, headers: jsonWith(token), ...(payload && { payload }) }
  }
  const links = `/identities/v1/${ids.developer}/links`
  for (const query of [
    '',
    '?type=',
    '?type=memberof',
    '?type=MemberOf&type=MemberOf',
    '?Type=MemberOf',
    '?type[]=MemberOf',
  ])
    yield { name: `list groups: query ${query}`, method: 'GET', url: `${links}${query}`, headers: jsonWith(developer) }
  yield {
    name: 'list groups: of somebody else, without a type',
    method: 'GET',
    url: links,
    headers: jsonWith(stranger),
  }
  for (const path of [
    '/apps',
    '/apps/v1/',
    '/apps/v2',
    `/apps/v1/${ids.app}/`,
    '/APPS/v1',
    '/identities/v1/',
    '/nothing',
  ])
    yield {
      name: `no such path: ${path.replace(ids.app, '{app}')}`,
      method: 'GET',
      url: path,
      headers: jsonWith(developer),
    }
}

function* badConditions(url: string, token: string, payload: string) {
  const tags = ['"999"', '1', 'W/"1"', '""', '"1', '*, "1"', ', ,', '"999", "998"', 'a'.repeat(200)]
  for (const tag of tags)
    for (const [words, method, body] of [
      ['update', 'PUT', payload],
      ['update with a bad body', 'PUT', '{}'],
      ['remove', 'DELETE', undefined],
    ] as const)
      yield {
        name: `${words}: if-match ${tag}`,
        method,
        url,
        headers: { ...jsonWith(token), 'if-match': tag },
        ...(body && { payload: body }),
      }
}

function* badMethods(token: string, ids: ApiScene['ids']) {
  const paths: Record<string, string[]> = {
    '/apps/v1': ['GET', 'POST', 'HEAD'],
    [`/apps/v1/${ids.app}`]: ['GET', 'PUT', 'DELETE', 'HEAD'],
    [`/apps/v1/${ids.app}/refreshSecret`]: ['POST'],
    '/identities/v1': ['POST'],
    [`/identities/v1/${ids.stranger}/link/${ids.group}`]: ['POST', 'DELETE'],
    [`/identities/v1/${ids.developer}/links`]: ['GET', 'HEAD'],
    '/apps/v1/openapi.json': ['GET', 'HEAD'],
    '/apps/v1/api.raml': ['GET', 'HEAD'],
  }
  for (const [url, allowed] of Object.entries(paths))
    for (const method of methods.filter(one => !allowed.includes(one))) {
      const name = `${method} ${url
        .replace(ids.app, '{app}')
        .replace(/\/identities\/v1\/[^/]+/, '/identities/v1/{user}')
        .replace(ids.group, '{group}')}`
      yield { name: `wrong method: ${name}`, method, url, headers: jsonWith(token) }
      yield { name: `wrong method without a token: ${name}`, method, url }
    }
}

function jsonWith(token: string): Record<string, string> {
  return { 'content-type': 'application/json', authorization: `Bearer ${token}` }
}
