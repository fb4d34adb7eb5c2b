// The authorization code of the stand-in platform. The platform does not store anything, so the code itself contains
// the data of the sign-in.

/** JSON in base64url. If `nonce` is set, the token response contains an ID token. */
export type Code = { listSize: number; clientId: string; nonce: string | undefined }
