// The client as it is, with the applications.
import type { Test } from 'tap'
import { buildClientAsItIs, type Settings } from '../../support/build-test-client.ts'

const notFound = { status: 404, body: {} }
/** Every page that names a group asks for the visitor's; an API need not know the call. */
const withoutGroups = Object.fromEntries([1, 2].map(n => [`GET /identities/v1/visitor-${n}/links`, notFound]))

export function buildApplicationsClient(t: Test, settings: Settings = {}) {
  return buildClientAsItIs(t, { ...settings, scripts: { ...withoutGroups, ...settings.scripts } })
}
