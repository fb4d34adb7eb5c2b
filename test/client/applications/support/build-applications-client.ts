// The client as it is, with the applications.
import type { Test } from 'tap'
import { buildClientAsItIs, type Settings } from '../../support/build-test-client.ts'

export function buildApplicationsClient(t: Test, settings: Settings = {}) {
  return buildClientAsItIs(t, settings)
}
