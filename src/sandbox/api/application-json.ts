// Applications, groups, links and collections as the API shows them.
import type { Application } from '../store/applications.ts'
import type { Group, Membership } from '../store/groups.ts'
import { contexts } from './contexts.ts'

export function toCollection<T>(items: T[]) {
  return { '@context': contexts.collection, '@type': 'collection', ItemList: items }
}

export function toAppJson(application: Application) {
  return {
    '@context': contexts.App,
    '@type': 'App',
    '@id': application.id,
    data: {
      name: application.name,
      description: application.description,
      privacyPolicyUrl: application.privacyPolicyUrl,
      webPageUrl: application.webPageUrl,
      iconUrl: application.iconUrl,
    },
    metadata: toMetadata(application),
    inLinks: [toDeveloperLink(application)],
    outLinks: [],
  }
}

/** `clientSecrets` only where they were made just now: the store knows their hashes only. */
export function toClientJson(application: Application, clientSecrets?: string[]) {
  return {
    clientId: application.id,
    ...(clientSecrets && { clientSecrets }),
    scopes: application.scopes,
    redirectUris: application.redirectUris.join(','),
    defaultScopes: application.defaultScopes,
    defaultRedirectUri: application.defaultRedirectUri,
  }
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

export function toMembershipJson(membership: Membership) {
  return {
    '@context': contexts.MemberOf,
    '@type': 'MemberOf',
    '@id': membership.id,
    from: membership.userId,
    to: membership.groupId,
    data: {},
    metadata: toMetadata({ ...membership, updatedAt: membership.createdAt, updatedBy: membership.createdBy }),
  }
}

// The link from the group is made with the application and never changes.
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

/** RFC 3339 with `+00:00`, as the platform writes it. */
function toTime(date: Date): string {
  return date.toISOString().replace('Z', '+00:00')
}
