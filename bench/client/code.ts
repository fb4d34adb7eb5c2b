// What the authorization code of the stand-in platform says: it keeps nothing, so the code itself holds the sign-in.

/** In base64url of JSON. With a nonce, the token response gets an ID token. */
export type Code = { listSize: number; clientId: string; nonce: string | undefined }
