// Makes access tokens for the application API. With one of these tokens, a user can create a first application before
// any client exists. Each token is shown only once. The page lists the tokens that are still valid, and the user can
// revoke one token or all tokens.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { makePortalToken } from '../../grants/tokens.ts'
import type { Services } from '../../services.ts'
import { listPortalGrants, revokeGrantsOf, revokePortalGrant } from '../../store/grants.ts'
import { listGroupsOf } from '../../store/memberships.ts'
import { contexts } from '../../values/contexts.ts'
import { isId } from '../../values/is-id.ts'
import { findLineProblem } from '../../values/line-problem.ts'
import { curlList } from '../../web/curl.ts'
import { redirectWithMessage, takeMessage } from '../message.ts'
import { askFirst, makeAccountForm, readAccountForm, showAccountPage, visitorOf } from './account.ts'

const path = '/account/token'
const revokePath = `${path}/revoke`
const longestName = 60

interface OneToken {
  Params: { token_id: string }
}

export function accessTokenRoutes(services: Pick<Services, 'addresses' | 'store' | 'keyRing' | 'clock'>) {
  const { store, clock, addresses } = services

  async function show(_request: FastifyRequest, reply: FastifyReply) {
    return showList(reply)
  }

  async function showList(reply: FastifyReply, refused: { name?: string; nameProblem?: string } = {}) {
    const { request } = reply
    const userId = visitorOf(request).id
    return showAccountPage(reply, 'account/token', {
      title: 'Access tokens',
      groups: await listGroupsOf(store.read, userId),
      tokens: await listPortalGrants(store.read, userId, clock()),
      message: takeMessage(services, reply, { path, userId }),
      makeToken: makeAccountForm(services, request, 'make token'),
      longestName,
      ...refused,
    })
  }

  async function make(request: FastifyRequest, reply: FastifyReply) {
    const { id, fields } = readAccountForm(services, request, 'make token')
    const { id: userId, proof } = visitorOf(request)
    const name = (fields.name ?? '').trim()
    const nameProblem = findLineProblem(name, longestName)
    if (nameProblem !== undefined) return showList(reply.status(422), { name, nameProblem })
    const groups = await listGroupsOf(store.read, userId)
    const { accessToken, expiresAt } = await makePortalToken(services, { id, userId, proof, tokenName: name })
    request.log.info({ code: 'token-made', user: userId }, 'a user made an access token')
    // The example command contains a group only if the visitor has made this group, because the command must not create
    // an application in another person's group.
    const group = groups.find(({ isMaker }) => isMaker)
    return showAccountPage(reply, 'account/token-shown', {
      title: 'Your access token',
      accessToken,
      expiresAt,
      group,
      groups,
      ...makeCurlLines(addresses.apiUrl, group?.id ?? (groups.length > 0 ? 'GROUP_ID' : undefined)),
    })
  }

  async function askToRevokeOne(request: FastifyRequest<OneToken>, reply: FastifyReply) {
    const tokens = await listPortalGrants(store.read, visitorOf(request).id, clock())
    const token = tokens.find(({ id }) => id === request.params.token_id)
    if (!token) return reply.redirect(path, 303)
    return askFirst(reply, {
      title: 'Revoke this access token?',
      question: ['Revoke this access token', '?'],
      texts: ['The token stops working at once. A program that uses this token then needs a new token.'],
      facts: [
        ...(token.name ? [['What it is for', token.name] satisfies [string, string]] : []),
        ...(token.end ? [['Last characters', token.end] satisfies [string, string]] : []),
        ['Created', token.createdAt],
        ['Valid until', token.expiresAt],
      ],
      action: revokePath,
      fields: { formToken: makeAccountForm(services, request, 'revoke tokens'), tokenId: token.id },
      button: 'Revoke the token',
      cancel: path,
    })
  }

  async function askToRevokeAll(request: FastifyRequest, reply: FastifyReply) {
    const { length } = await listPortalGrants(store.read, visitorOf(request).id, clock())
    if (length === 0) return reply.redirect(path, 303)
    const what = length === 1 ? 'Revoke your access token' : `Revoke all ${length} of your access tokens`
    return askFirst(reply, {
      title: `${what}?`,
      question: [what, '?'],
      texts: ['Your tokens stop working at once. A program that uses one of these tokens then needs a new token.'],
      action: revokePath,
      fields: { formToken: makeAccountForm(services, request, 'revoke tokens'), tokens: 'all' },
      button: length === 1 ? 'Revoke the token' : 'Revoke all tokens',
      cancel: path,
    })
  }

  async function revoke(request: FastifyRequest, reply: FastifyReply) {
    const { fields } = readAccountForm(services, request, 'revoke tokens')
    const userId = visitorOf(request).id
    const isAll = fields.tokens === 'all'
    const { tokenId = '' } = fields
    if (isAll) await store.write(db => revokeGrantsOf(db, userId, null, clock()))
    else if (isId(tokenId)) await store.write(db => revokePortalGrant(db, userId, tokenId, clock()))
    else return reply.redirect(path, 303)
    request.log.info(
      { code: 'portal-tokens-revoked', user: userId, grantId: isAll ? 'all' : tokenId },
      'a user revoked access tokens',
    )
    const message = { about: isAll ? 'tokens revoked' : 'token revoked' } as const
    return redirectWithMessage(services, reply, { path, userId, message })
  }

  return { show, make, askToRevokeOne, askToRevokeAll, revoke }
}

/**
 * Makes example commands for curl. Addresses and ids do not contain quotation marks, so they need no escaping. If there
 * is no group, `create` is undefined.
 */
function makeCurlLines(apiUrl: string, groupId: string | undefined) {
  const list = curlList(apiUrl)
  const envelope = {
    context: contexts.App,
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
  }
  const body = JSON.stringify(envelope, null, 2)
  return { list, create: groupId && `${list} \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'` }
}
