// The addresses of the platform's data models (JSON-LD contexts).
const platform = 'https://standards.oftrust.net/v2/Context'

/** The address of the data model of each type. Request bodies and answers contain this address. */
export const contexts = {
  App: `${platform}/Identity/Digital/Software/App/`,
  Group: `${platform}/Identity/Group/`,
  DeveloperOf: `${platform}/Link/Role/DeveloperOf/`,
  MemberOf: `${platform}/Link/Role/MemberOf/`,
  Person: `${platform}/Identity/LegalParty/Person/`,
  collection: 'https://schema.org/',
}
