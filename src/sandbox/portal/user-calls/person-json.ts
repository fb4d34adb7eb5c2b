// A user as the calls show them.
import type { User } from '../../store/users.ts'

export function toPersonJson({ id, email, firstName, lastName }: User) {
  return {
    '@context': 'https://standards.oftrust.net/v2/Context/Identity/LegalParty/Person/',
    '@type': 'Person',
    '@id': id,
    email,
    // Everybody who signs up to a sandbox develops applications.
    role: 'developer',
    firstName,
    lastName,
  }
}
