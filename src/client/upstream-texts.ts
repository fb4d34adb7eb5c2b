// The messages for visitors if a call to the login portal or the application API fails.

/** `seconds` is the time in the header Retry-After. It is undefined if the answer has no such header. */
function soon(seconds?: number): string {
  if (!seconds) return 'soon'
  return seconds === 1 ? 'in 1 second' : `in ${seconds} seconds`
}

export const upstreamTexts = {
  /**
   * Each key is an error code of upstream.ts without its prefix: the key `busy` belongs to `portal_busy` and
   * `api_busy`.
   */
  portal: {
    busy: (seconds?: number) => `The login portal is busy. Try again ${soon(seconds)}.`,
    certificate:
      'The login portal could not be reached over a secure connection. If this keeps happening, tell the operator of this site.',
    failed: 'The login portal is not working right now. Try again soon.',
    overloaded: 'The login portal is answering too slowly at the moment. Try again soon.',
    timeout: 'The login portal took too long to answer. Try again.',
    unexpected: 'The login portal sent an answer that this site does not understand. Try again.',
    unreachable: 'The login portal could not be reached. Try again soon.',
  },
  api: {
    busy: (seconds?: number) => `The application API is busy. Try again ${soon(seconds)}.`,
    certificate:
      'The application API could not be reached over a secure connection. If this keeps happening, tell the operator of this site.',
    failed: 'The application API is not working right now. Try again soon.',
    overloaded: 'The application API is answering too slowly at the moment. Try again soon.',
    timeout: 'The application API took too long to answer. Try again.',
    unexpected: 'The application API sent an answer that this site does not understand. Try again.',
    unreachable: 'The application API could not be reached. Try again soon.',
  },
}

declare module './texts.ts' {
  interface Texts {
    upstream: typeof upstreamTexts
  }
}
