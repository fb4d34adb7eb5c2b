// What developers read about failed steps and about the portal's checks.
import { type Guidance, reasons } from '../../observe/reasons.ts'
import type { CheckName } from '../../observe/steps.ts'
import type { StepReason } from '../record/recorded.ts'

export function guidanceOf(reason: StepReason): Guidance {
  return reason === 'redirect-followed' ? redirectFollowed : reasons[reason]
}

/**
 * The guidance for a request that reached the trap of a redirect fault. A real platform has no traps, so the catalogue
 * of reasons does not contain this guidance.
 */
const redirectFollowed: Guidance = {
  found: 'The client’s server followed a redirect.',
  why: 'A redirect can lead to any address. With 307, the client also sends the client secret, the code or the token to that address.',
  fix: 'Turn off redirects for every call from your server, and treat an answer with a redirect as an error. The portal and the application API never redirect a call.',
  reference: 'RFC 9700 4.12; RFC 9110 15.4.8',
}

/** Says why the portal makes this check. The result is the guidance for the refusal that follows if the check fails. */
export function guidanceOfCheck(name: CheckName): Guidance {
  return reasons[reasonsOfChecks[name]]
}

const reasonsOfChecks = {
  redirect_uri: 'redirect-uri-unregistered',
  cancel_url: 'cancel-url-foreign',
  client_secret: 'secret-wrong',
  code: 'code-used',
  state: 'state-differs',
  code_verifier: 'verifier-differs',
  refresh_token: 'refresh-token-used',
} as const satisfies Record<CheckName, keyof typeof reasons>
