// The public addresses that the laboratory shows.

/** The addresses at which browsers and clients reach the portal, the API and the laboratory. */
export interface LabAddresses {
  portalUrl: string
  apiUrl: string
  labUrl: string
}
