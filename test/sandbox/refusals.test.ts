// Checks that every reason for a refusal has a message in each error format that can contain this reason.
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { toApiError } from '../../src/sandbox/api/api-error.ts'
import { type Reason, reasons } from '../../src/sandbox/observe/reasons.ts'
import { Refusal } from '../../src/sandbox/observe/refusal.ts'
import { problemsOfGroups } from '../../src/sandbox/portal/account/group-problems.ts'
import { errorPageOf } from '../../src/sandbox/portal/error-pages.ts'
import { oauthAnswerOf } from '../../src/sandbox/portal/oauth-errors.ts'

const sandbox = 'src/sandbox'

/** If a refusal has one of these reasons, the portal shows a message next to the form instead of an error page. */
const besideForms: Reason[] = ['password-wrong', 'too-many-failures', 'too-many-sign-ups', 'fields-invalid']

/** Returns the reasons that occur in these files and folders. */
function reasonsIn(...paths: string[]): Reason[] {
  const files = paths.flatMap(path =>
    path.endsWith('.ts')
      ? path
      : readdirSync(`${sandbox}/${path}`)
          .filter(name => name.endsWith('.ts'))
          .map(name => `${path}/${name}`),
  )
  const quoted = files.flatMap(file => readFileSync(`${sandbox}/${file}`, 'utf8').match(/(?<=')[a-z-]+(?=')/g) ?? [])
  return [...new Set(quoted)].filter((text): text is Reason => text in reasons)
}

t.test(
  'the application API can answer with every refusal reason that occurs in the folders applications and groups',
  async t => {
    const found = reasonsIn('applications', 'groups')
    t.ok(found.includes('last-member'))
    for (const reason of found) t.ok(toApiError(new Refusal(reason)).statusCode < 500, reason)
  },
)

t.test(
  'the portal’s calls for clients have an OAuth error for every refusal reason that occurs in the source files for codes and tokens',
  async t => {
    const found = reasonsIn(
      'grants/clients.ts',
      'grants/codes.ts',
      'grants/tokens.ts',
      'portal/fields.ts',
      'portal/client-calls.ts',
    )
    t.ok(found.includes('verifier-differs'))
    // Only a page of the portal uses the reason `token-shown`.
    for (const reason of found.filter(reason => reason !== 'token-shown'))
      t.ok(oauthAnswerOf(new Refusal(reason)).answer[0] < 500, reason)
  },
)

t.test('the pages for groups have a message for every refusal reason that occurs in the folder groups', async t => {
  // Only the API changes applications, so the pages do not need these reasons.
  const ofApplications: Reason[] = ['too-many-applications', 'too-many-bytes']
  for (const reason of reasonsIn('groups').filter(reason => !ofApplications.includes(reason)))
    t.ok(problemsOfGroups[reason] ?? errorPageOf(new Refusal(reason)), reason)
})

t.test(
  'the pages of the portal, except those for groups, have a message for every refusal reason that occurs in the source files for accounts, consents and clients',
  async t => {
    const found = reasonsIn(
      'people',
      'grants/consents.ts',
      'grants/made-by-clients.ts',
      'portal/consent.ts',
      'portal/sign-in.ts',
      'portal/session.ts',
      'portal/reset-password.ts',
      'portal/cross-site-guard.ts',
    )
    t.ok(found.includes('secret-shown'))
    // If a refusal has one of these two reasons, visitors get an ordinary page instead of an error page.
    const noErrors: Reason[] = ['consent-declined', 'cookies-missing']
    for (const reason of found.filter(reason => ![...besideForms, ...noErrors].includes(reason)))
      t.ok(errorPageOf(new Refusal(reason)), reason)
  },
)
