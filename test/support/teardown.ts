/** The method of a tap test that stops servers after the test. A script that is not a test may pass its own object. */
export type Teardown = { teardown(stop: () => Promise<void>): void }
