// The public addresses of the sandbox, as the laboratory needs them.

/** Where browsers and clients reach the portal, the API and the laboratory. */
export interface Addresses {
  portalUrl: string
  apiUrl: string
  labUrl: string
}
