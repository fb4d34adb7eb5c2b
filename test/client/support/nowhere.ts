/** Where nobody listens, and connections are refused: a port that is only free may be taken at any moment. */
export const nowhere = 'http://127.0.0.1:1'
