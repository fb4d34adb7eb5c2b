// The steps that bring an empty database to the present schema, in order. New ones go to the end; none is ever changed.
import type { Migration } from './migration.ts'
import { applicationMakers } from './migrations/application-makers.ts'
import { applicationVersions } from './migrations/application-versions.ts'
import { boundsOfGrants } from './migrations/bounds-of-grants.ts'
import { firstSchema } from './migrations/first-schema.ts'
import { invitations } from './migrations/invitations.ts'
import { makers } from './migrations/makers.ts'
import { removedApplications } from './migrations/removed-applications.ts'
import { seeds } from './migrations/seeds.ts'
import { setUp } from './migrations/set-up.ts'
import { unredeemedCodes } from './migrations/unredeemed-codes.ts'

/** The first brings version 0 to version 1, and so on. */
export const migrations: readonly Migration[] = [
  firstSchema,
  makers,
  seeds,
  invitations,
  removedApplications,
  unredeemedCodes,
  setUp,
  applicationVersions,
  boundsOfGrants,
  applicationMakers,
]
