// The suite of tests that something is made for. Several suites share a sandbox, and each resets only its own.

export const suiteProperty = {
  type: 'string',
  maxLength: 64,
  pattern: '^[A-Za-z0-9._-]{0,64}$',
  examples: ['my-tests-1'],
  description:
    'The suite of tests that this is for. Who names one in /lab/v1/reset removes what was made for it, and no more.',
} as const
