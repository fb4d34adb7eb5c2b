// Builds the laboratory as part of a sandbox, and connects it to the platform.
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { clientAndReason } from '../observe/observe.ts'
import type { Observer } from '../observe/steps.ts'
import { findApplicationNames } from '../store/applications.ts'
import { isId } from '../values/is-id.ts'
import type { Secret } from '../values/secret.ts'
import { buildLab, type Lab } from './build-lab.ts'
import type { NamesOf } from './explain/find-logins.ts'
import type { PlatformAccess } from './faults/fault-hooks.ts'
import {
  createOpaqueTokens,
  createStepFaults,
  endAccessTokenIn,
  enlargeAccessToken,
  findProvenClient,
} from './faults/platform.ts'
import type { LabStep } from './record/recorded.ts'
import type { SetUpServices } from './set-up/set-up.ts'

interface LabServices extends Omit<SetUpServices, 'askPortal'> {
  logger: FastifyBaseLogger
  /** This is a function, because the portal does not exist yet when the laboratory is built. */
  portal: () => FastifyInstance
  /** The laboratory calls this function with every step that it has recorded. */
  onStep: ((step: LabStep) => void) | undefined
}

export interface OpenedLab extends Pick<Lab, 'server' | 'mailbox' | 'faults'> {
  observer: Observer
  addFaults: ReturnType<Lab['addFaults']>
}

/** Calls buildLab, and returns the observer to which the portal and the API report their steps. */
export async function openLab(
  { urls, token }: { urls: string[]; token: Secret | undefined },
  { logger, portal, onStep, ...services }: LabServices,
): Promise<OpenedLab> {
  const { addresses, clock } = services
  const setUp: SetUpServices = {
    ...services,
    async askPortal(request) {
      const { location } = (await portal().inject(request)).headers
      return { location: typeof location === 'string' ? location : undefined }
    },
  }
  const stepFaults = createStepFaults()
  const opaqueTokens = createOpaqueTokens()
  const platform: PlatformAccess = {
    clientOf: request => clientAndReason(request).clientId,
    provenClientOf: request => findProvenClient(services, request),
    enlargeToken: (accessToken, bytes) => enlargeAccessToken(services, accessToken, bytes),
    endTokenIn: (accessToken, seconds) => endAccessTokenIn(services, accessToken, seconds),
    makeOpaque: opaqueTokens.make,
    acceptOpaqueToken: opaqueTokens.acceptIn,
    authorizationIn: opaqueTokens.authorizationIn,
    bodyIn: opaqueTokens.bodyIn,
    noteFault: stepFaults.note,
    noteTrap: stepFaults.noteTrap,
  }
  // If the laboratory cannot read the store, pages show the id of the client instead of its name.
  const namesOf: NamesOf = ids => findApplicationNames(services.store.read, ids.filter(isId)).catch(() => new Map())
  const lab = await buildLab({ addresses, labUrls: urls, token, clock, logger, setUp, namesOf })
  const { server, mailbox, faults, urlOf } = lab
  const observer: Observer = {
    onStep(step, request) {
      const labStep = stepFaults.addTo(opaqueTokens.showIn(step, request), request)
      lab.record(labStep)
      onStep?.(labStep)
    },
    urlOf,
  }
  return { server, mailbox, faults, observer, addFaults: lab.addFaults(platform) }
}
