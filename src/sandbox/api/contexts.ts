// The data models that bodies and answers name.

const platform = 'https://standards.oftrust.net/v2/Context'

export const contexts = {
  App: `${platform}/Identity/Digital/Software/App/`,
  Group: `${platform}/Identity/Group/`,
  DeveloperOf: `${platform}/Link/Role/DeveloperOf/`,
  MemberOf: `${platform}/Link/Role/MemberOf/`,
  collection: 'https://schema.org/',
}
