// Faults in the portal's metadata.
import { anyJson, type Kinds, type Preset } from './kind.ts'

const anotherPortal = 'https://portal.example'

const presets: Record<string, Preset> = {
  'issuer-other': preset('The metadata names another issuer.', { issuer: anotherPortal }),
  'pkce-missing': preset('The metadata does not say that the portal accepts PKCE.', {
    code_challenge_methods_supported: null,
  }),
  'pkce-plain': preset('The metadata says that the portal accepts PKCE only with the method plain.', {
    code_challenge_methods_supported: ['plain'],
  }),
  'iss-not-promised': preset('The metadata does not say that the portal adds iss to its redirects.', {
    authorization_response_iss_parameter_supported: null,
  }),
}

export const metadataKinds: Kinds = {
  members: {
    does: 'The JSON members that you name have the values that you give. If you give the value null, the metadata does not contain the member.',
    when: ['after'],
    options: {
      members: {
        ...anyJson('The JSON members: an object with their names and values.'),
        allowed: 'an object of at most 10,000 characters of JSON',
        schema: { type: 'object' },
      },
    },
    presets,
    run({ answer, options }) {
      const all = { ...JSON.parse(answer.body), ...(options.members as object) }
      const left = Object.entries(all).filter(([, value]) => value !== null)
      return { ...answer, body: JSON.stringify(Object.fromEntries(left)) }
    },
  },
}

function preset(does: string, members: object): Preset {
  return { does, fixed: { members } }
}
