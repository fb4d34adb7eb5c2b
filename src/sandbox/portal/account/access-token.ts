// An access token for the application API, shown once: for a first application, before there is a client.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { makePortalToken } from '../../grants/tokens.ts'
import type { Services } from '../../services.ts'
import { countPortalGrants, revokeGrantsOf } from '../../store/grants.ts'
import { type GroupOfUser, listGroupsOf } from '../../store/memberships.ts'
import { makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'

const path = '/account/token'

export function accessTokenRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store, clock, addresses } = services

  async function show(request: FastifyRequest, reply: FastifyReply) {
    const userId = visitorOf(request).id
    return showAccountPage(reply, 'account/token', {
      title: 'Access token',
      groups: await listGroupsOf(store.read, userId),
      liveCount: await countPortalGrants(store.read, userId, clock()),
      makeToken: makeAccountForm(services, request, 'make token'),
      endTokens: makeAccountForm(services, request, 'end tokens'),
    })
  }

  async function make(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'make token')
    const { id: userId, proof } = visitorOf(request)
    const groups = await listGroupsOf(store.read, userId)
    const { accessToken, expiresAt } = await makePortalToken(services, { id, userId, proof })
    request.log.info({ code: 'token-made', userId }, 'a user made an access token')
    const group = chooseGroup(groups, fields.groupId)
    return showAccountPage(reply, 'account/token-shown', {
      title: 'Your access token',
      accessToken,
      expiresAt,
      group,
      ...makeCurlLines(addresses.apiUrl, accessToken, group?.id),
    })
  }

  async function endAll(request: FastifyRequest, reply: FastifyReply) {
    readAccountForm(services, request, 'end tokens')
    await store.write(db => revokeGrantsOf(db, visitorOf(request).id, null, clock()))
    return reply.redirect(path, 303)
  }

  return { show, make, endAll }
}

/** The group that the user chose, if it is one of theirs. Otherwise the first that they have made. */
function chooseGroup(groups: GroupOfUser[], id: string | undefined): GroupOfUser | undefined {
  return groups.find(group => group.id === id) ?? groups.find(group => group.isMaker)
}

/** Addresses, a JWT and ids hold no quotes, so nothing needs quoting. `create` is undefined without a group. */
function makeCurlLines(apiUrl: string, accessToken: string, groupId: string | undefined) {
  const list = `curl -sS ${apiUrl}/apps/v1 -H 'Authorization: Bearer ${accessToken}'`
  const body = JSON.stringify({
    context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
    type: 'App',
    data: {
      groupId,
      name: 'My first application',
      description: '',
      webPageUrl: '',
      iconUrl: '',
      privacyPolicyUrl: '',
      redirectUris: 'http://localhost:3000/exchangeToken',
      scopes: '',
      defaultScopes: '',
    },
  })
  return { list, create: groupId && `${list} -H 'Content-Type: application/json' -d '${body}'` }
}
