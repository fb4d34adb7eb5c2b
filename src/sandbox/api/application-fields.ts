// Which fields an application has, when it is made and when it is changed, and what they may hold.
import type { ApplicationFields } from '../store/applications.ts'
import { createFieldReader } from './field-reader.ts'

export interface NewApplicationFields extends ApplicationFields {
  groupId: string
}

const longest = { name: 200, description: 2000, scopes: 2000, defaultScopes: 2000 }

/** Takes the envelope of the specification or the ten fields without it. Throws ApiError 422. */
export function readNewApplication(body: unknown): NewApplicationFields {
  const reader = createFieldReader(body)
  reader.ofTypeIfSaid('App')
  const redirectUris = reader.redirectUris('redirectUris')
  const fields = {
    groupId: reader.text('groupId', { min: 1, max: 200 }),
    name: reader.text('name', { min: 1, max: longest.name }),
    description: reader.text('description', { max: longest.description }),
    webPageUrl: reader.webUrl('webPageUrl'),
    iconUrl: reader.webUrl('iconUrl'),
    privacyPolicyUrl: reader.webUrl('privacyPolicyUrl'),
    redirectUris,
    defaultRedirectUri: reader.oneOf('defaultRedirectUri', redirectUris, redirectUris[0] ?? ''),
    scopes: reader.text('scopes', { max: longest.scopes }),
    defaultScopes: reader.text('defaultScopes', { max: longest.defaultScopes }),
  }
  reader.close()
  return fields
}

/** Of an application of which the client alone matters. Throws ApiError 422. */
export function readNewClient(client: { name: string; redirectUris: readonly string[] }): ApplicationFields {
  const texts = { description: '', webPageUrl: '', iconUrl: '', privacyPolicyUrl: '', scopes: '', defaultScopes: '' }
  // The group is not known before there is an application to be put into it.
  const { groupId: _, ...fields } = readNewApplication({
    ...texts,
    groupId: '-',
    name: client.name,
    redirectUris: client.redirectUris.join(),
  })
  return fields
}

/** The same two forms of body, without a group. What is left out stays as it is. Throws ApiError 422. */
export function readChangedApplication(body: unknown, present: ApplicationFields): ApplicationFields {
  const reader = createFieldReader(body)
  reader.ofTypeIfSaid('App')
  const readText = (name: 'description' | 'scopes' | 'defaultScopes') =>
    reader.has(name) ? reader.text(name, { max: longest[name] }) : present[name]
  const readWebUrl = (name: 'webPageUrl' | 'iconUrl' | 'privacyPolicyUrl') =>
    reader.has(name) ? reader.webUrl(name) : present[name]
  // An application stays with its group.
  reader.refuse('groupId')
  const redirectUris = reader.redirectUris('redirectUris')
  const isDefaultKept = redirectUris.includes(present.defaultRedirectUri)
  const presentDefault = isDefaultKept ? present.defaultRedirectUri : (redirectUris[0] ?? '')
  const fields = {
    name: reader.text('name', { min: 1, max: longest.name }),
    description: readText('description'),
    webPageUrl: readWebUrl('webPageUrl'),
    iconUrl: readWebUrl('iconUrl'),
    privacyPolicyUrl: readWebUrl('privacyPolicyUrl'),
    redirectUris,
    defaultRedirectUri: reader.oneOf('defaultRedirectUri', redirectUris, presentDefault),
    scopes: readText('scopes'),
    defaultScopes: readText('defaultScopes'),
  }
  reader.close()
  return fields
}
