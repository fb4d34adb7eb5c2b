// Clients that trust values that anybody can put into an address: markup, line breaks and addresses.
import { correct } from '../../behaviour.ts'
import { answerWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { goOn } from '../../pages.ts'
import { isCancelled, isRefusedCallback } from '../../requests.ts'
import { Refusal } from '../../visit.ts'

export const hostileValues: Mistake[] = [
  mistake('parameter-with-brackets-is-a-crash', 'callback-unknown-parameters', {
    async beforeState({ query }) {
      if ([...query.keys()].some(name => name.includes('['))) throw new TypeError('cannot read a list')
    },
  }),
  mistake('parameter-named-like-a-property-refused', 'callback-unknown-parameters', {
    async beforeState({ query }) {
      const object: Record<string, unknown> = {}
      for (const name of query.keys())
        if (object[name] !== undefined) throw new Refusal(400, 'A parameter is repeated.')
    },
  }),
  mistake('next-page-of-the-callback', 'callback-no-redirect-away', {
    afterLogin: (visit, login) => goOn(visit, visit.query.get('next') ?? login.returnTo),
  }),
  mistake('relay-state-followed-after-the-login', 'callback-no-redirect-away', {
    afterLogin: (visit, login) => goOn(visit, visit.query.get('RelayState') ?? login.returnTo),
  }),
  mistake('next-page-of-the-callback-after-five-seconds', 'callback-no-redirect-away', {
    afterLogin: (visit, { returnTo }) => goOn(visit, visit.query.get('next') ?? returnTo, 5),
  }),
  ...['client_id', 'iss', 'error_uri', 'code'].map(name =>
    mistake(`${name}-of-a-refused-callback-as-html`, 'callback-escapes-anything', {
      wordsFor: (error, visit) => correct.wordsFor(error, visit) + (visit.query.get(name) ?? ''),
      html: text => text,
    }),
  ),
  mistake('error-uri-as-a-link', 'callback-escapes-anything', {
    ...answerWith((answer, visit) =>
      isRefusedCallback(answer, visit, 'error_uri')
        ? { ...answer, body: `${answer.body}<a href="${correct.html(visit.query.get('error_uri')!)}">More</a>` }
        : answer,
    ),
  }),
  ...['lang', 'error_description'].map(name =>
    mistake(`header-with-the-${name}-as-it-came`, 'header-injection', {
      ...answerWith((answer, visit) => {
        const lines = (visit.query.get(name) ?? '').split(/[\r\n]+/).filter(line => line.startsWith('x-'))
        const headers = Object.fromEntries(lines.map(line => line.split(': ')))
        return { ...answer, headers: { ...answer.headers, ...headers } }
      }),
    }),
  ),
  ...['error', 'error_description'].map(name =>
    mistake(`whole-${name}-on-the-page`, 'callback-long-texts-not-shown', {
      wordsFor: (error, visit) => `${correct.wordsFor(error, visit)} ${visit.query.get(name) ?? ''}`,
    }),
  ),
  mistake(
    'whole-error-description-on-the-cancel-page',
    'callback-long-texts-not-shown',
    answerWith((answer, visit) =>
      isCancelled(visit)
        ? { ...answer, body: `${answer.body}<p>${correct.html(visit.query.get('error_description') ?? '')}</p>` }
        : answer,
    ),
  ),
]
