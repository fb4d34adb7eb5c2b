// Clients whose edit form saves wrong values, or does not show the values that somebody else has saved.
import { type Behaviour, correct } from '../../behaviour.ts'
import { answerWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { fields } from '../../pages.ts'

/** Whether the API's last answer with one application had an ETag. */
let hasEtag = true

const notesEtag: Pick<Behaviour, 'readBody'> = {
  async readBody(response, most) {
    if (/\/apps\/v1\/[^/]+$/.test(response.url)) hasEtag = response.headers.has('etag')
    return correct.readBody(response, most)
  },
}

const ofOauthClient = ['redirectUris', 'defaultRedirectUri', 'scopes', 'defaultScopes']

/** Leaves out the values of the OAuth client. */
function withoutOauthClient(values: string): string {
  return `${new URLSearchParams([...new URLSearchParams(values)].filter(([name]) => !ofOauthClient.includes(name)))}`
}

export const savedValues: Mistake[] = [
  mistake('without-an-etag-nothing-compared', 'edit-overtaken-without-etag', {
    ...notesEtag,
    isUnchanged: (shown, stored) => !hasEtag || correct.isUnchanged(shown, stored),
  }),
  mistake(
    'without-an-etag-oauth-client-not-compared',
    ['edit-overtaken-without-etag-redirect-uris', 'edit-overtaken-without-etag-scopes'],
    {
      ...notesEtag,
      isUnchanged: (shown, stored) =>
        hasEtag
          ? correct.isUnchanged(shown, stored)
          : correct.isUnchanged(withoutOauthClient(shown), withoutOauthClient(stored)),
    },
  ),
  mistake(
    'overtaken-edit-hides-the-stored-values',
    'edit-overtaken-shows-both',
    answerWith(answer =>
      answer.status === 409 && answer.body ? { ...answer, body: answer.body.replace(/<ul>.*?<\/ul>/s, '') } : answer,
    ),
  ),
  mistake('unknown-values-saved-as-empty', 'edit-without-client-kept', {
    knownValues: values => new URLSearchParams(Object.fromEntries(fields.map(name => [name, values.get(name) ?? '']))),
  }),
  mistake('single-unknown-value-saved-as-empty', 'edit-without-client-kept', {
    // If the API returns the redirect URIs, the client sends all values.
    knownValues: values =>
      values.has('redirectUris')
        ? new URLSearchParams(Object.fromEntries(fields.map(name => [name, values.get(name) ?? ''])))
        : values,
  }),
  mistake('first-redirect-uri-saved-as-the-default', 'edit-without-client-kept', {
    changedValues(typed, ...others) {
      const changed = correct.changedValues(typed, ...others)
      const [first = ''] = `${typed.get('redirectUris')}`.split(/[\s,]+/)
      if (!typed.get('defaultRedirectUri') && first) changed.set('defaultRedirectUri', first)
      return changed
    },
  }),
  mistake('empty-fields-not-sent', ['edit-empties-description', 'edit-empties-web-page'], {
    changedValues: typed => new URLSearchParams([...typed].filter(([, value]) => value !== '')),
  }),
]
