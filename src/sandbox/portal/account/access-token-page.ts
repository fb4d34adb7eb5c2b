// An access token for the application API, made by its user and shown once: for a first application without a client.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Services } from '../../services.ts'
import { endSurplusGrants } from '../../store/grants.ts'
import { type GroupOfUser, listGroupsOf } from '../../store/groups-of-user.ts'
import { countPortalGrants, createPortalGrant, revokeGrantsOf } from '../../store/user-grants.ts'
import { signUserToken, userTokenLifetime } from '../../tokens/access-token.ts'
import { PageError } from '../error-pages.ts'
import { requireProof } from '../require-proof.ts'
import { makeAccountForm, readAccountForm } from './account-form.ts'
import { makeCurlLines } from './curl-lines.ts'
import { showAccountPage, visitorOf } from './require-visitor.ts'

const path = '/account/token'

export function accessTokenRoutes(parts: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store, clock, addresses, keyRing } = parts

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const userId = visitorOf(request).id
    return showAccountPage(reply, 'account/token', {
      title: 'Access token',
      groups: await listGroupsOf(store.read, userId),
      liveCount: await countPortalGrants(store.read, userId, clock()),
      makeToken: makeAccountForm(parts, request, 'make token'),
      endTokens: makeAccountForm(parts, request, 'end tokens'),
    })
  }

  async function make(request: FastifyRequest, reply: FastifyReply) {
    const { id: grantId, fields } = readAccountForm(parts, request, 'make token')
    const { id: userId, proof } = visitorOf(request)
    const now = clock()
    const expiresAt = new Date(now.getTime() + userTokenLifetime * 1000)
    const groups = await listGroupsOf(store.read, userId)
    const isMade = await store.transaction(async db => {
      await requireProof(db, { userId, proof }, path)
      if (!(await createPortalGrant(db, { id: grantId, userId, now, expiresAt }))) return false
      await endSurplusGrants(db, userId, null, now)
      return true
    })
    if (!isMade)
      throw new PageError(409, 'This token has been shown already. Each is shown only once.', {
        next: { href: path, label: 'Create another one' },
      })
    // The portal itself is the audience: there is no client.
    const order = { issuer: addresses.portalUrl, grantId, userId, clientId: addresses.portalUrl, now }
    const accessToken = await signUserToken(keyRing, order)
    request.log.info({ code: 'token-made', userId }, 'a user made an access token')
    return showToken(reply, { accessToken, expiresAt, group: findGroup(groups, fields.groupId) })
  }

  async function endAll(request: FastifyRequest, reply: FastifyReply) {
    readAccountForm(parts, request, 'end tokens')
    await store.write(db => revokeGrantsOf(db, visitorOf(request).id, null, clock()))
    return reply.redirect(path, 303)
  }

  function showToken(
    reply: FastifyReply,
    { accessToken, expiresAt, group }: { accessToken: string; expiresAt: Date; group: GroupOfUser | undefined },
  ) {
    return showAccountPage(reply, 'account/token-shown', {
      title: 'Your access token',
      accessToken,
      expiresAt,
      group,
      ...makeCurlLines(addresses.apiUrl, accessToken, group?.id),
    })
  }

  return { show, make, endAll }
}

/** The group that was chosen, if it is one of the user's; else the first of their own making, if there is one. */
function findGroup(groups: GroupOfUser[], id: string | undefined): GroupOfUser | undefined {
  return groups.find(group => group.id === id) ?? groups.find(group => group.isMaker)
}
