// The authorization code of the stand-in platform. The platform stores nothing, so the code itself contains the sign-in.

/** In base64url of JSON. If `nonce` is set, the token response contains an ID token. */
export type Code = { listSize: number; clientId: string; nonce: string | undefined }
