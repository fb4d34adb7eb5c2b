/** An address that always refuses connections. Another program could take a port that is only free. */
export const nowhere = 'http://127.0.0.1:1'
