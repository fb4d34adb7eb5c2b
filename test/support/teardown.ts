/** The part of a test that is needed to stop what was started; a script may bring its own. */
export type Teardown = { teardown(stop: () => Promise<void>): void }
