// Faults in the content of API answers: refusals in other formats, unexpected texts and fields, long lists.
import { randomUUID } from 'node:crypto'
import { contexts } from '../../values/contexts.ts'
import { large } from './connection-kinds.ts'
import { type Answer, anyJson, json, type Kind, type Kinds, textUpTo, wholeNumberFrom } from './kind.ts'
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

/** Fields that identify an object. The faults do not change these fields. */
const identifying = /^(@.*|from|to|clientId|.*At|.*By)$/

const refusalKinds: Kinds = {
  '422-body': {
    does: 'The status is 422, and the body is the JSON that you give.',
    when: ['before'],
    options: { body: anyJson('The body.') },
    presets: {
      '422-sentence': {
        does: 'The status is 422, and the body contains a sentence.',
        fixed: { body: { error: { status: 422, message: 'The name is taken.' } } },
      },
      '422-fields': {
        does: 'The status is 422, and the body lists the problems of each field. One of these fields was not sent.',
        fixed: {
          body: {
            error: {
              status: 422,
              message: { name: ['Longer than maximum length 200.', 'Taken.'], planet: ['Not a valid planet.'] },
            },
          },
        },
      },
      '422-oauth': {
        does: 'The status is 422, and the body has the error format of the portal.',
        fixed: { body: { error: 'invalid_request', error_description: 'The name is taken.' } },
      },
    },
    run: ({ options }) => json(422, options.body),
  },
}

const contentKinds: Kinds = {
  'hostile-texts': change(
    'Every string that is not an id or a time is hostile: it contains markup, control characters or half a character, or it is 20,000 characters long.',
    answer => hostile(answer, { next: 0 }),
  ),
  id: {
    does: 'The id of every object has the value that you give.',
    when: ['after'],
    options: { id: anyJson('The id.') },
    run: ({ answer, options }) =>
      json(
        answer.status,
        eachThing(JSON.parse(answer.body), thing => ({ ...thing, '@id': options.id })),
      ),
  },
  'unknown-members': change('Every object has unknown fields.', answer => mapObjects(answer, addUnknown)),
  'members-missing': {
    does: 'Each object lacks one field, or lacks all fields except its type and its id.',
    when: ['after'],
    options: {
      member: textUpTo(100, {
        about:
          'The missing field, such as “data” or “data.name”. Without this option, all fields except type and id are missing.',
      }),
    },
    run: ({ answer, options }) =>
      json(
        answer.status,
        eachThing(JSON.parse(answer.body), thing => leaveOut(thing, options.member)),
      ),
  },
  large,
}

/** JSON with so many levels overflows the stack of most programs. */
const deepLevels = 100_000

const listKinds: Kinds = {
  deep: {
    does: `ItemList consists of nested lists, ${deepLevels} levels deep.`,
    when: ['after'],
    run: ({ answer }) => ({ ...answer, body: `{"ItemList":${'['.repeat(deepLevels)}${']'.repeat(deepLevels)}}` }),
  },
  'long-list': {
    ...change('You choose how many applications the list contains.', (answer, { count }) => ({
      ...(answer as Members),
      ItemList: Array.from({ length: count as number }, (_, index) => makeApplication(index)),
    })),
    options: { count: wholeNumberFrom(0, 10_000, { about: 'The number of applications.', unit: 'applications' }) },
    presets: { '5000': { does: 'There are 5,000 applications.', fixed: { count: 5000 } } },
  },
  'not-a-list': change('ItemList is an object instead of a list.', answer => ({
    ...(answer as Members),
    ItemList: { first: {} },
  })),
}

/** Returns the fault kinds of a place in the application API, without the kinds that all places have. */
export function apiKindsAt(place: Place): Kinds {
  const hasContent = place !== 'remove' && place !== 'unlink' && place !== 'api'
  return { ...refusalKinds, ...(hasContent && contentKinds), ...(place === 'list' && listKinds) }
}

function change(does: string, to: (answer: unknown, options: Members) => unknown): Kind {
  return {
    does,
    when: ['after'],
    run: ({ answer, options }): Answer => json(answer.status, to(JSON.parse(answer.body), options)),
  }
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

/** Changes each item of the list in the answer. If the answer contains no list, changes the answer itself. */
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
    '@context': contexts.App,
    '@type': 'App',
    '@id': randomUUID(),
    data: { name: `Application ${index + 1}`, description: '', privacyPolicyUrl: '', webPageUrl: '', iconUrl: '' },
    metadata: { createdAt: now, createdBy: user, updatedAt: now, updatedBy: user },
    inLinks: [],
    outLinks: [],
  }
}
