// The settings that a client of this sandbox needs, under the names that clients commonly use.
import type { CreatedApplication } from '../applications/applications.ts'
import type { Addresses } from '../services.ts'

export function clientSettings(
  { portalUrl, apiUrl }: Addresses,
  { application, clientSecret }: Pick<CreatedApplication, 'application' | 'clientSecret'>,
): Record<string, string> {
  return {
    LOGIN_URL: portalUrl,
    API_URL: apiUrl,
    CLIENT_ID: application.id,
    CLIENT_SECRET: clientSecret,
    REDIRECT_URI: application.defaultRedirectUri,
  }
}
