// Which fields an application has, when it is made and when it is changed, and what they may hold.
import type { ApplicationFields } from '../store/applications.ts'
import { openForm } from './form.ts'

export interface NewApplicationFields extends ApplicationFields {
  groupId: string
}

const longest = { name: 200, description: 2000, scopes: 2000, defaultScopes: 2000 }

/** Takes the envelope of the specification or the ten fields without it. Throws ApiError 422. */
export function readNewApplication(body: unknown): NewApplicationFields {
  const form = openForm(body)
  form.ofTypeIfSaid('App')
  const redirectUris = form.redirectUris('redirectUris')
  const fields = {
    groupId: form.text('groupId', { min: 1, max: 200 }),
    name: form.text('name', { min: 1, max: longest.name }),
    description: form.text('description', { max: longest.description }),
    webPageUrl: form.webUrl('webPageUrl'),
    iconUrl: form.webUrl('iconUrl'),
    privacyPolicyUrl: form.webUrl('privacyPolicyUrl'),
    redirectUris,
    defaultRedirectUri: form.oneOf('defaultRedirectUri', redirectUris, redirectUris[0] ?? ''),
    scopes: form.text('scopes', { max: longest.scopes }),
    defaultScopes: form.text('defaultScopes', { max: longest.defaultScopes }),
  }
  form.close()
  return fields
}

/** The same two forms of body, without a group. What is left out stays as it is. Throws ApiError 422. */
export function readChangedApplication(body: unknown, present: ApplicationFields): ApplicationFields {
  const form = openForm(body)
  form.ofTypeIfSaid('App')
  const readText = (name: 'description' | 'scopes' | 'defaultScopes') =>
    form.has(name) ? form.text(name, { max: longest[name] }) : present[name]
  const readWebUrl = (name: 'webPageUrl' | 'iconUrl' | 'privacyPolicyUrl') =>
    form.has(name) ? form.webUrl(name) : present[name]
  // An application stays with its group.
  form.refuse('groupId')
  const redirectUris = form.redirectUris('redirectUris')
  const isDefaultKept = redirectUris.includes(present.defaultRedirectUri)
  const presentDefault = isDefaultKept ? present.defaultRedirectUri : (redirectUris[0] ?? '')
  const fields = {
    name: form.text('name', { min: 1, max: longest.name }),
    description: readText('description'),
    webPageUrl: readWebUrl('webPageUrl'),
    iconUrl: readWebUrl('iconUrl'),
    privacyPolicyUrl: readWebUrl('privacyPolicyUrl'),
    redirectUris,
    defaultRedirectUri: form.oneOf('defaultRedirectUri', redirectUris, presentDefault),
    scopes: readText('scopes'),
    defaultScopes: readText('defaultScopes'),
  }
  form.close()
  return fields
}
