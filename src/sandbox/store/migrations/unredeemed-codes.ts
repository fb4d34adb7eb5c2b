// Lets the sweep find codes that nobody redeemed among the grants that somebody did.
import type { Migration } from '../migration.ts'

export const unredeemedCodes: Migration = {
  name: 'unredeemed codes',
  statements: ['create index grants_unredeemed on grants (expires_at) where redeemed_at is null'],
}
