// Makes the JSON for the applications, groups, links and collections in the API's answers.
import { Readable } from 'node:stream'
import { clientFields, descriptiveFields } from '../applications/fields.ts'
import type { Application } from '../store/applications.ts'
import type { Group } from '../store/groups.ts'
import type { Invitation } from '../store/invitations.ts'
import type { Membership } from '../store/memberships.ts'
import { contexts } from '../values/contexts.ts'

export function toCollection<T>(items: T[]) {
  return { '@context': contexts.collection, '@type': 'collection', ItemList: items }
}

/**
 * Writes a collection as JSON, portion by portion. The stream makes the next portion only when the reader has room for
 * it. Otherwise a long list would delay all other callers, and a caller who requests many lists without reading them
 * could fill the memory.
 */
export function writeCollection<T>(portions: AsyncIterable<T[]>, toJson: (item: T) => object): Readable {
  // The generator makes each piece only when the stream asks for it.
  return Readable.from(writePieces(portions, toJson), { highWaterMark: 0 })
}

async function* writePieces<T>(portions: AsyncIterable<T[]>, toJson: (item: T) => object): AsyncGenerator<string> {
  // ItemList is the last field, so the text ends with `]}`.
  const empty = JSON.stringify(toCollection([]))
  const [start, end] = [empty.slice(0, -2), empty.slice(-2)]
  // Send the start of the list with the first portion: if reading that portion fails, the API can still answer with an
  // error.
  let before = start
  for await (const portion of portions) {
    if (portion.length === 0) continue
    yield `${before}${portion.map(item => JSON.stringify(toJson(item))).join()}`
    before = ','
  }
  yield `${before === start ? start : ''}${end}`
}

export function toAppJson(application: Application) {
  return {
    '@context': contexts.App,
    '@type': 'App',
    '@id': application.id,
    data: pick(application, descriptiveFields),
    metadata: toMetadata(application),
    inLinks: [toDeveloperLink(application)],
    outLinks: [],
  }
}

/**
 * `clientSecrets` contains the secrets that the current request has just created. If `clientSecrets` is left out, the
 * JSON does not contain any secrets, because the store has only hashes.
 */
export function toClientJson(application: Application, clientSecrets?: string[]) {
  return {
    clientId: application.id,
    ...(clientSecrets && { clientSecrets }),
    ...pick(application, clientFields),
    redirectUris: application.redirectUris.join(','),
  }
}

/** Returns only the fields that the schema names. */
function pick<Name extends keyof Application>(application: Application, properties: Record<Name, unknown>) {
  const names = Object.keys(properties) as Name[]
  return Object.fromEntries(names.map(name => [name, application[name]])) as Pick<Application, Name>
}

export function toGroupJson({ id, name, createdAt, createdBy }: Group) {
  return {
    '@context': contexts.Group,
    '@type': 'Group',
    '@id': id,
    data: { name },
    metadata: toMetadata({ createdAt, createdBy, updatedAt: createdAt, updatedBy: createdBy }),
  }
}

/** In the JSON, `status` is `maker` if the user made the group, and otherwise `member`. */
export function toMembershipJson({ isMaker, ...membership }: Membership) {
  return toMemberLink(membership, isMaker ? 'maker' : 'member')
}

export function toInvitationJson(invitation: Invitation & { groupName: string }) {
  return toMemberLink(invitation, 'invited')
}

function toMemberLink(link: Invitation & { groupName: string }, status: 'maker' | 'member' | 'invited') {
  return {
    '@context': contexts.MemberOf,
    '@type': 'MemberOf',
    '@id': link.id,
    from: link.userId,
    to: link.groupId,
    data: { name: link.groupName, status },
    metadata: toMetadata({ ...link, updatedAt: link.createdAt, updatedBy: link.createdBy }),
  }
}

// The link from the group to the application is created together with the application and never changes.
function toDeveloperLink({ id, linkId, groupId, createdAt, createdBy }: Application) {
  return {
    '@context': contexts.DeveloperOf,
    '@type': 'DeveloperOf',
    '@id': linkId,
    from: groupId,
    to: id,
    data: {},
    metadata: toMetadata({ createdAt, createdBy, updatedAt: createdAt, updatedBy: createdBy }),
  }
}

interface Changes {
  createdAt: Date
  createdBy: string
  updatedAt: Date
  updatedBy: string
}

function toMetadata({ createdAt, createdBy, updatedAt, updatedBy }: Changes) {
  return { createdAt: toTime(createdAt), createdBy, updatedAt: toTime(updatedAt), updatedBy }
}

/** Writes the time as in RFC 3339, with `+00:00` as on the real platform. */
export function toTime(date: Date): string {
  return date.toISOString().replace('Z', '+00:00')
}
