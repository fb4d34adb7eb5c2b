// Builds the client with the pages for applications.
import type { Test } from 'tap'
import { buildClientAsItIs, type Settings } from '../../support/build-test-client.ts'

const notFound = { status: 404, body: {} }
/**
 * Pages that show a group ask the API for the visitor's groups. By default, the API of these tests does not support
 * this call.
 */
const withoutGroups = Object.fromEntries([1, 2].map(n => [`GET /identities/v1/visitor-${n}/links`, notFound]))

export function buildApplicationsClient(t: Test, settings: Settings = {}) {
  return buildClientAsItIs(t, { ...settings, scripts: { ...withoutGroups, ...settings.scripts } })
}
