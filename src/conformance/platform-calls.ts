// Tells the calls of the client to the platform apart.
import type { LabStep } from '../sandbox/lab/record/recorded.ts'

/** An exchange or a renewal. The portal answers these calls with tokens. */
export const isTokenCall = ({ kind }: LabStep): boolean => kind === 'exchange' || kind === 'refresh'

export const isRenewal = ({ kind }: LabStep): boolean => kind === 'refresh'

/** A call with an access token: to the API, or to the portal's address for data about the user. */
export const isCallWithToken = ({ kind }: LabStep): boolean => kind === 'api' || kind === 'me'

/** A call with an access token that the platform accepted. For an expired token, the platform answers 401. */
export const isAcceptedCall = (step: LabStep): boolean => isCallWithToken(step) && step.response.status < 400

/** A call to the API, or for data about the user, with a token of this person. */
export const isCallOfUser = ({ listener, kind, about }: LabStep, userId: string): boolean =>
  (listener === 'api' || kind === 'me') && about.userId === userId

/** A call for whose answer a visitor waits. Calls for metadata and revocations do not count. */
export const isAwaitedCall = (step: LabStep): boolean => isTokenCall(step) || isCallWithToken(step)
