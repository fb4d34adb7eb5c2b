// Reads the application that a page is about. The id of the application is in the page's address.
import type { FastifyRequest } from 'fastify'
import { type NextStep, PublicError } from '../errors.ts'
import type { Texts } from '../texts.ts'
import { type Application, applicationId, readApplication, readTimes } from './application.ts'
import { applicationSchema } from './schemas.ts'

export function listLink({ applications }: Texts): NextStep {
  return { href: '/applications', text: applications.home }
}

export function noSuchApplication(texts: Texts): PublicError {
  const nextStep = listLink(texts)
  return new PublicError('application_not_found', 404, texts.applications.notFound, { nextStep })
}

/** Reads the application from the API. Throws PublicError if this fails. */
export async function getApplication(request: FastifyRequest): Promise<Application> {
  const { data, headers } = await request.visitor.api.getWithHeaders(apiPathOf(request), applicationSchema)
  const secretTimes = readTimes(headers['client-secrets-created'])
  return { ...readApplication(data), etag: strongEtag(headers.etag), secretTimes }
}

/**
 * Returns the value if it is a strong ETag, and undefined otherwise. Only a strong ETag can be sent in If-Match (RFC
 * 9110 13.1.1). If an answer has two ETag headers, the value is a list, and the client cannot know which of them is
 * right. If the value comes from a form, somebody may have forged it.
 */
export function strongEtag(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^"[\x21\x23-\x7e]{0,200}"$/.test(value) ? value : undefined
}

/** The path of the application at the API. */
export function apiPathOf(request: FastifyRequest): string {
  return `/apps/v1/${encodeURIComponent(idOf(request))}`
}

/**
 * Returns the application's id from the page's address. Throws PublicError 404 if the text in the address is not a
 * possible id. Fastify has already decoded %2F to a slash, so an unchecked text could lead to another address of the
 * API.
 */
export function idOf({ params, texts }: FastifyRequest): string {
  const { id } = params as { id?: unknown }
  if (typeof id === 'string' && applicationId.test(id)) return id
  throw noSuchApplication(texts)
}
