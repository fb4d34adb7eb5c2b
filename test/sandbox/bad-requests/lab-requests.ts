// Bad requests to the laboratory's JSON API.
import { seeded, type TestSandbox } from '../support/build-test-sandbox.ts'
import {
  type BadRequest,
  badContentTypes,
  badIds,
  badJsonBodies,
  badTexts,
  changeFields,
  methods,
} from './bad-values.ts'

export interface LabScene {
  userId: string
  groupId: string
  clientId: string
  faultId: string
}

const local = { host: '127.0.0.1:4002', 'content-type': 'application/json' }

export async function setLabScene({ lab }: TestSandbox): Promise<LabScene> {
  const post = async (path: string, body: object) =>
    (await lab!.inject({ method: 'POST', url: `/lab/v1/${path}`, headers: local, payload: body })).json()
  const { userId } = await post('people', {})
  const { groupId } = await post('groups', { members: [userId] })
  const { clientId } = await post('applications', { redirectUri: seeded.redirectUri, userId, groupId })
  const { id: faultId } = await post('faults', { fault: 'list-503', clientId })
  return { userId, groupId, clientId, faultId }
}

const badNumbers = { 'minus one': -1, 'a million': 1_000_000_000, digits: '1', always: 'always', 'no number': 1e300 }
const texts = {
  'a suite of 65 characters': 'x'.repeat(65),
  'a suite with a space': 'a b',
  'an e-mail address': 'a@b.test',
}

export function* labRequests(scene: LabScene): Generator<BadRequest> {
  const { userId, groupId, clientId, faultId } = scene
  const person = { email: 'new@example.test', password: 'a long password', firstName: 'A', lastName: 'B', suite: 'a' }
  const lifetimes = { accessTokenSeconds: 60, refreshTokenSeconds: 60, codeSeconds: 60 }
  const redirectUris = [seeded.redirectUri]
  const application = {
    redirectUri: seeded.redirectUri,
    redirectUris,
    name: 'A',
    userId,
    groupId,
    lifetimes,
    suite: 'a',
  }
  const calls: [title: string, method: string, path: string, fields: Record<string, unknown>][] = [
    ['order a fault', 'POST', 'faults', { fault: 'list-late', clientId, state: 's', skip: 0, times: 1, options: {} }],
    ['search', 'POST', 'logins/search', { text: 'words' }],
    ['make a person', 'POST', 'people', person],
    ['make a group', 'POST', 'groups', { name: 'A', members: [userId], suite: 'a' }],
    ['make an application', 'POST', 'applications', application],
    ['set lifetimes', 'PUT', `applications/${clientId}/lifetimes`, lifetimes],
    ['sign in', 'POST', 'sign-in', { userId, clientId }],
    ['expire', 'POST', 'expire', { what: 'code', userId, clientId }],
    ['reset', 'POST', 'reset', { suite: 'nothing', seeds: false, all: false }],
  ]
  for (const [title, method, path, fields] of calls) {
    const url = `/lab/v1/${path}`
    const send = (name: string, body: unknown): BadRequest => ({
      name: `${title}: ${name}`,
      method,
      url,
      headers: local,
      payload: JSON.stringify(body),
    })
    for (const [words, changed] of changeFields(fields, { ...badTexts, ...badNumbers, ...texts })) {
      // The fields of a reset are optional, so a reset without a field is not a bad request.
      if (words.endsWith('left out') && title === 'reset') continue
      yield send(words, changed)
    }
    yield send('an unknown field', { ...fields, other: 1 })
    yield send('eleven unknown fields', {
      ...fields,
      ...Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`other-${i}`, i])),
    })
    yield send('a field with a name of 101 characters', { ...fields, ['x'.repeat(101)]: 1 })
    yield send('every field an array', Object.fromEntries(Object.keys(fields).map(name => [name, [[]]])))
    yield { ...send('an unknown parameter', fields), url: `${url}?other=1` }
    yield* badBodies(title, method, url)
  }
  yield* badCombinations(scene)
  yield* badParameters(scene)
  for (const [words, id] of Object.entries(badIds)) {
    const rows: [method: string, path: string, payload?: string][] = [
      ['GET', `logins/${id}`],
      ['GET', `logins/${id}/har`],
      ['GET', `faults/${id}`],
      ['DELETE', `faults/${id}`],
      ['PUT', `applications/${id}/lifetimes`, '{}'],
      ['PUT', `applications/${id}/lifetimes`, '{"codeSeconds":0}'],
    ]
    for (const [method, path, payload] of rows)
      yield {
        name: `${method} ${path.replace(id, '{id}')}${payload ?? ''}: ${words}`,
        method,
        url: `/lab/v1/${path}`,
        headers: local,
        ...(payload && { payload }),
      }
  }
  const paths = [
    'people',
    'groups',
    'applications',
    'sign-in',
    'expire',
    'reset',
    'faults/catalogue',
    'logins',
    'events',
    'mailbox',
  ]
  const reads = ['faults/catalogue', 'logins', 'events', 'mailbox']
  for (const path of paths)
    for (const method of methods.filter(one => (reads.includes(path) ? one !== 'GET' : one !== 'POST')))
      yield { name: `wrong method: ${method} ${path}`, method, url: `/lab/v1/${path}`, headers: local }
  for (const [words, headers] of Object.entries({
    'another host': { ...local, host: 'evil.example.test' },
    'another site': { ...local, origin: 'https://evil.example.test' },
    'no content type': { host: local.host },
  }))
    for (const [method, path] of [
      ['POST', 'people'],
      ['GET', 'logins'],
      ['DELETE', `faults/${faultId}`],
    ] as const) {
      if (words === 'no content type' && method === 'DELETE') continue
      if (words === 'no content type' && method === 'GET') continue
      yield { name: `${words}: ${method} ${path.replace(faultId, '{id}')}`, method, url: `/lab/v1/${path}`, headers }
    }
}

function* badBodies(title: string, method: string, url: string): Generator<BadRequest> {
  // For a reset, an empty object is a good body.
  const bodies = Object.entries(badJsonBodies).filter(([words]) => words !== 'an empty object' || !/reset/.test(title))
  for (const [words, payload] of bodies)
    yield { name: `${title}: body, ${words}`, method, url, headers: local, ...(payload !== undefined && { payload }) }
  for (const [words, type] of Object.entries(badContentTypes))
    yield {
      name: `${title}: content type, ${words}`,
      method,
      url,
      headers: { ...local, 'content-type': type },
      payload: '{"other":1}',
    }
}

/** More bad requests, with bad values for single fields, or with fields that do not belong together. */
function* badCombinations({ userId, groupId, clientId }: LabScene): Generator<BadRequest> {
  const { redirectUri } = seeded
  const email = seeded.email
  const rows: [path: string, body: object][] = [
    ['people', { email: seeded.email }],
    ['people', { email: 'nobody' }],
    ['people', { password: 'password' }],
    ['people', { firstName: 'A\u0007' }],
    ['groups', { members: [userId, 'word'] }],
    ['groups', { members: ['6f2b1c9e-0000-4000-8000-000000000000'] }],
    ['groups', { members: Array.from({ length: 21 }, () => userId) }],
    ['groups', { members: [userId, 5, null, {}] }],
    ['applications', { name: 'A' }],
    ['applications', { redirectUri: 'http://client.example.test/' }],
    ['applications', { redirectUris: Array.from({ length: 12 }, (_, i) => `bad-${i}`) }],
    ['applications', { redirectUris: Array.from({ length: 21 }, () => redirectUri) }],
    ['applications', { redirectUri: `${redirectUri},https://b.test` }],
    ['applications', { redirectUri, groupId }],
    ['applications', { redirectUri, userId, email }],
    ['applications', { redirectUri, userId: 'word' }],
    ['applications', { redirectUri, userId, groupId: 'word' }],
    ['applications', { redirectUri, email, groupId }],
    ['applications', { redirectUri, lifetimes: { codeSeconds: 601, other: 1 } }],
    ['applications', { redirectUri, lifetimes: { accessTokenSeconds: '60', refreshTokenSeconds: 0 } }],
    ['sign-in', {}],
    ['sign-in', { userId, email }],
    ['sign-in', { userId, clientId, url: 'http://127.0.0.1:4000/?a=b' }],
    ['sign-in', { userId, url: 'nothing' }],
    ['sign-in', { userId, url: 'https://other.example.test/?a=b' }],
    ['sign-in', { userId, url: 'http://127.0.0.1:4000/?client_id=nobody' }],
    ['sign-in', { userId, clientId: 'nobody' }],
    ['sign-in', { userId, clientId: 'a b' }],
    ['sign-in', { email: 'nobody@example.test' }],
    ['expire', { what: 'code' }],
    ['expire', { what: 'code', value: 'a', email }],
    ['expire', { what: 'code', value: 'a' }],
    ['expire', { what: 'access-token', value: 'a' }],
    ['expire', { what: 'refresh-token', value: 'a', clientId }],
    ['expire', { what: 'portal-session', userId, clientId }],
    ['reset', { all: true, suite: 'a' }],
    ['faults', { fault: 'constructor' }],
    ['faults', { fault: 'list-429', options: { retryAfter: 'a\nb', seconds: 1 } }],
    ['faults', { fault: 'list-late', options: { seconds: '5' } }],
    ['faults', { fault: 'list-late', options: { seconds: 61 } }],
    ['faults', { fault: 'list-reset', options: { seconds: 1 } }],
    ['faults', { fault: 'exchange-expires-in' }],
    ['faults', { fault: 'metadata-503', clientId }],
    ['faults', { fault: 'keys-503', state: 'a' }],
  ]
  const counts = new Map<string, number>()
  for (const [path, body] of rows) {
    counts.set(path, (counts.get(path) ?? 0) + 1)
    yield {
      name: `combination: ${path} ${counts.get(path)}`,
      method: 'POST',
      url: `/lab/v1/${path}`,
      headers: local,
      payload: JSON.stringify(body),
    }
  }
}

function* badParameters({ clientId, faultId }: LabScene): Generator<BadRequest> {
  const rows: [method: string, path: string, query: string][] = [
    ['GET', 'logins', 'after=-1'],
    ['GET', 'logins', 'after=a'],
    ['GET', 'logins', 'after=1.5'],
    ['GET', 'logins', 'after=9999999999999999'],
    ['GET', 'logins', 'wait=31'],
    ['GET', 'logins', 'wait=-1&after=a'],
    ['GET', 'logins', 'other=1'],
    ['GET', 'logins', 'clientId=a&clientId=b'],
    ['GET', 'logins', `${'x'.repeat(101)}=1`],
    ['GET', 'events', 'other=1'],
    ['GET', 'events', 'clientId=a&clientId=b'],
    ['GET', 'faults', 'other=1'],
    ['GET', 'faults', 'clientid=1'],
    ['GET', 'faults/catalogue', 'place=nowhere'],
    ['GET', 'faults/catalogue', 'place=toString'],
    ['GET', 'faults/catalogue', 'place=list&place=create'],
    ['GET', `faults/${faultId}`, 'other=1'],
    ['DELETE', 'faults', 'clientId='],
    ['DELETE', 'faults', 'other=1'],
    ['DELETE', 'faults', 'clientId=a&clientId=b'],
    ['DELETE', `faults/${faultId}`, 'other=1'],
    ['GET', 'mailbox', 'from=a'],
    ['PUT', `applications/${clientId}/lifetimes`, 'other=1'],
  ]
  for (const [method, path, query] of rows)
    yield {
      name: `parameters: ${method} ${path.replace(faultId, '{id}').replace(clientId, '{id}')}?${query}`,
      method,
      url: `/lab/v1/${path}?${query}`,
      headers: local,
      ...(method === 'PUT' && { payload: '{}' }),
    }
  for (const path of ['faults', `faults/${faultId}`])
    for (const [words, payload] of Object.entries({
      fields: '{"clientId":"a"}',
      text: '"a"',
      number: '5',
      array: '[1]',
    }))
      yield {
        name: `a body where none is read: DELETE ${path.replace(faultId, '{id}')}, ${words}`,
        method: 'DELETE',
        url: `/lab/v1/${path}`,
        headers: local,
        payload,
      }
}
