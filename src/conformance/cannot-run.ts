/** Thrown if the run could not begin or was stopped. The message says why. */
export class CannotRun extends Error {}

export const wasStopped = 'The run was stopped.'
