// The portal's own pages for a signed-in user; without a session each of them is the page to sign in.
import type { FastifyInstance } from 'fastify'
import type { Parts } from '../../parts.ts'
import { accessTokenPage } from './access-token-page.ts'
import { allowedApplicationsPage } from './allowed-applications-page.ts'
import { groupPage } from './group-page.ts'
import { groupsPage } from './groups-page.ts'
import { madeByClientsPages } from './made-by-clients-pages.ts'
import { profilePage } from './profile-page.ts'
import { requireVisitor } from './require-visitor.ts'

export async function accountPages(
  scope: FastifyInstance,
  parts: Pick<Parts, 'addresses' | 'store' | 'keyRing' | 'clock'>,
): Promise<void> {
  requireVisitor(scope, parts)
  profilePage(scope, parts)
  groupsPage(scope, parts)
  groupPage(scope, parts)
  accessTokenPage(scope, parts)
  allowedApplicationsPage(scope, parts)
  madeByClientsPages(scope, parts)
}
