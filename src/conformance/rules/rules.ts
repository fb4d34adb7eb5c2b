// Every rule of this repository by its id. Checks, tests, comments and documents name these ids.
import * as client from './client.ts'
import * as platform from './platform.ts'
import * as project from './project.ts'
import type { Rule } from './rule.ts'
import * as sandbox from './sandbox.ts'

/** Rules about one subject, in the order in which documents list them. */
export interface Subject {
  title: string
  rules: Record<string, Rule>
}

/** Rules for the same reader. */
interface Audience {
  title: string
  subjects: Subject[]
}

export const audiences: Audience[] = [
  {
    title: 'Rules for a client',
    subjects: [
      { title: 'Login request', rules: client.start },
      { title: 'Cookie of a login', rules: client.loginCookie },
      { title: 'Metadata of the portal', rules: client.metadata },
      { title: 'Callback', rules: client.callback },
      { title: 'Page at the callback', rules: client.callbackPage },
      { title: 'Exchange and tokens', rules: client.exchange },
      { title: 'Session cookies', rules: client.cookies },
      { title: 'Renewal', rules: client.renewal },
      { title: 'Signing out and revocation', rules: client.signOut },
      { title: 'Name of the visitor', rules: client.name },
      { title: 'Applications and forms', rules: client.applications },
      { title: 'Pages', rules: client.pages },
      { title: 'Failures of the platform', rules: client.failures },
      { title: 'Log', rules: client.log },
    ],
  },
  {
    title: 'Rules for the platform, which this sandbox follows',
    subjects: [
      { title: 'Login request at the portal', rules: platform.portalStart },
      { title: 'Exchange at the portal', rules: platform.portalExchange },
      { title: 'Renewal at the portal', rules: platform.portalRenewal },
      { title: 'Revocation at the portal', rules: platform.revocation },
      { title: 'Users and their tokens', rules: platform.person },
      { title: 'Application API', rules: platform.api },
      { title: 'Groups', rules: platform.groups },
      { title: 'Limits', rules: platform.limits },
    ],
  },
  {
    title: 'Rules for this sandbox only',
    subjects: [
      { title: 'Pages of the portal', rules: sandbox.portalPages },
      { title: 'Secrets and keys', rules: sandbox.secrets },
      { title: 'Database', rules: sandbox.store },
      { title: 'Laboratory', rules: sandbox.laboratory },
    ],
  },
  {
    title: 'Rules for the programs of this project',
    subjects: [
      { title: 'Settings', rules: project.settings },
      { title: 'Running and stopping', rules: project.running },
      { title: 'Faults that the client survives', rules: project.faults },
      { title: 'Load and hostile requests', rules: project.load },
      { title: 'Packages and images', rules: project.supply },
    ],
  },
]

/** The rules that have an entry in docs/reference/platform.md. */
export const platformAudiences = audiences.slice(0, 2)

type Subjects = typeof client & typeof platform & typeof sandbox & typeof project

/** The id of a rule, for example `AZ-01`. */
export type RuleId = { [Name in keyof Subjects]: keyof Subjects[Name] }[keyof Subjects]

/** All rules, in the order of the subjects of each audience. */
export const rules: Record<RuleId, Rule> = Object.assign(
  {},
  ...audiences.flatMap(audience => audience.subjects.map(subject => subject.rules)),
)

/** The origin of a rule as readable text. */
export function originOf({ source, section }: Rule): string {
  if (source === 'platform') return 'the platform'
  if (source === 'decision') return 'decision of this project'
  if (source === 'experience') return 'experience'
  return source === 'ASVS 5.0' ? `OWASP ASVS 5.0, V${section}` : `${source}, section ${section}`
}

/** Everything about a rule in one line: id, level, origin and sentence. */
export function describeRule(id: RuleId): string {
  const { level, sentence, quote } = rules[id]
  return `${id} (${level}): ${sentence} Origin: ${originOf(rules[id])}${quote ? `, "${quote}"` : ''}`
}
