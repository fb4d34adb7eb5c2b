/**
 * An address that always refuses connections. A free port would not be safe, because another program could start to
 * listen on it.
 */
export const nowhere = 'http://127.0.0.1:1'
