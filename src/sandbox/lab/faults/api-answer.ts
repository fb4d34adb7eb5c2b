// What can go wrong in what the application API says: refusals of other shapes, and texts and members that nobody expects.
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Answer, json, type Mishap, type Mishaps } from './mishap.ts'
import { textUpTo } from './options.ts'
import type { Place } from './places.ts'

type Members = Record<string, unknown>

const hostileTexts = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  'javascript:alert(1)',
  '\u202egnp.exe\u2066\u200b\ufeff',
  'one\r\nSet-Cookie: two=2\u0000\u001b[31m',
  "'; drop table applications; --{{7*7}}<%= 7*7 %>",
  '\ud800 half a character, and 👩‍👩‍👧 a whole family',
  'a'.repeat(20_000),
]

/** Those by which things are found and told apart; an answer without them would be another one. */
const identifying = /^(@.*|from|to|clientId|.*At|.*By)$/

const refusalShapes: Mishaps = {
  '422-sentence': refuse('a sentence', { error: { status: 422, message: 'The name is taken.' } }),
  '422-fields': refuse('problems by field, also of one that nobody sent', {
    error: {
      status: 422,
      message: { name: ['Longer than maximum length 200.', 'Taken.'], planet: ['Not a valid planet.'] },
    },
  }),
  '422-oauth': refuse('the dialect of the portal', {
    error: 'invalid_request',
    error_description: 'The name is taken.',
  }),
}

const contentMishaps: Mishaps = {
  'hostile-texts': change(
    'Every text is markup, control characters, half a character or 20,000 characters long.',
    answer => hostile(answer, { next: 0 }),
  ),
  'unknown-members': change('Every object has members that nobody knows.', answer => mapObjects(answer, addUnknown)),
  'members-missing': {
    does: 'Of each thing nothing is left but type and id, or one member is missing.',
    acted: ['after'],
    options: {
      member: textUpTo(100, {
        about: 'The one that is missing, such as data or data.name; without it, all but type and id.',
      }),
    },
    act: ({ answer, options }) =>
      json(
        answer.status,
        eachThing(JSON.parse(answer.body), thing => leaveOut(thing, options.member)),
      ),
  },
}

/** More than anybody reads of a list of applications, and than the buffers of a connection hold. */
const largeMiB = 32

function* spacesBefore(body: string): Generator<string> {
  const piece = ' '.repeat(1024 * 1024)
  for (let count = 0; count < largeMiB; count++) yield piece
  yield body
}

const listMishaps: Mishaps = {
  '5000': change('There are 5,000 applications.', answer => ({
    ...(answer as Members),
    ItemList: Array.from({ length: 5000 }, (_, index) => makeApplication(index)),
  })),
  large: {
    does: `${largeMiB} MiB of spaces stand before the list, which is right.`,
    acted: ['after'],
    act({ answer, wire }) {
      wire.resetAtEnd()
      return { ...answer, body: Readable.from(spacesBefore(answer.body), { objectMode: false }) }
    },
  },
  'not-a-list': change('ItemList is an object.', answer => ({ ...(answer as Members), ItemList: {} })),
}

/** What can go wrong at a place of the API. */
export function apiMishapsOf(place: Place): Mishaps {
  const hasContent = place !== 'remove' && place !== 'unlink' && place !== 'api'
  return { ...refusalShapes, ...(hasContent && contentMishaps), ...(place === 'list' && listMishaps) }
}

function refuse(what: string, body: object): Mishap {
  return { does: `422 whose body is ${what}.`, acted: ['before'], act: () => json(422, body) }
}

function change(does: string, to: (answer: unknown) => unknown): Mishap {
  return { does, acted: ['after'], act: ({ answer }): Answer => json(answer.status, to(JSON.parse(answer.body))) }
}

function hostile(value: unknown, count: { next: number }): unknown {
  if (typeof value === 'string') return hostileTexts[count.next++ % hostileTexts.length]
  if (Array.isArray(value)) return value.map(one => hostile(one, count))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, identifying.test(name) ? one : hostile(one, count)]),
  )
}

function addUnknown(members: Members): Members {
  return { nobodyKnows: { deep: [1, null, { deeper: true }] }, ...members, 'not a name': '', __proto: 1 }
}

function mapObjects(value: unknown, to: (members: Members) => Members): unknown {
  if (Array.isArray(value)) return value.map(one => mapObjects(one, to))
  if (typeof value !== 'object' || value === null) return value
  return to(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapObjects(one, to)])))
}

/** Of a collection each of its items; else the answer itself. */
function eachThing(answer: Members, to: (thing: Members) => Members): Members {
  return Array.isArray(answer.ItemList) ? { ...answer, ItemList: answer.ItemList.map(to) } : to(answer)
}

function leaveOut(thing: Members, path: unknown): Members {
  if (typeof path !== 'string')
    return Object.fromEntries(Object.entries(thing).filter(([name]) => name.startsWith('@')))
  const [first = '', ...rest] = path.split('.')
  const { [first]: found, ...others } = thing
  const isInner = rest.length > 0 && typeof found === 'object' && found !== null
  return isInner ? { ...thing, [first]: leaveOut(found as Members, rest.join('.')) } : others
}

function makeApplication(index: number): Members {
  const now = new Date().toISOString().replace('Z', '+00:00')
  const user = '00000000-0000-4000-8000-000000000000'
  return {
    '@context': 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
    '@type': 'App',
    '@id': randomUUID(),
    data: { name: `Application ${index + 1}`, description: '', privacyPolicyUrl: '', webPageUrl: '', iconUrl: '' },
    metadata: { createdAt: now, createdBy: user, updatedAt: now, updatedBy: user },
    inLinks: [],
    outLinks: [],
  }
}
