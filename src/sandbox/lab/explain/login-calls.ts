// Lists and searches logins, and shows one login, as JSON and as HAR.
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { FromSchema } from 'json-schema-to-ts'
import { answer } from '../../http/describe.ts'
import type { LabAddresses } from '../addresses.ts'
import { clientIdInQuery, idInPath, queryOf, refusalAnswers, storableText, wholeNumberTo9999 } from '../call-schemas.ts'
import { filledTextsIn } from '../filled-texts.ts'
import { LabError } from '../lab-error.ts'
import type { Hide } from '../record/hide.ts'
import { type Logins, onlyLatestLogins } from '../record/logins.ts'
import type { RecordedLogin } from '../record/recorded.ts'
import { describeLogin, describeSummary } from './describe-login.ts'
import { isFoundBy, loginQueryParameters, type NamesOf, readLoginQuery, searchLogins } from './find-logins.ts'
import { toHar } from './har.ts'

const mostListed = 100

const tags = ['What happened']

const page = {
  ...wholeNumberTo9999,
  description: 'The number of the page. Each page has a hundred logins. Page 1 has the newest logins.',
}

/** The body of a search. */
const searchBody = {
  type: 'object',
  additionalProperties: false,
  required: ['text'],
  properties: {
    text: storableText(1, 8192, {
      description:
        'A request id, a state, a code, a token, a client id, or words, such as `401 code-used`. Each word must occur in the login.',
    }),
  },
} as const

export function loginCalls({
  logins,
  hide,
  addresses,
  clock,
  namesOf,
}: {
  logins: Logins
  hide: Hide
  addresses: LabAddresses
  clock: () => Date
  namesOf: NamesOf
}) {
  const waits = new Set<AbortController>()
  const reader = { logins, addresses, clock }
  let isStopping = false

  return {
    list: {
      schema: {
        tags,
        operationId: 'listLogins',
        summary: 'List the newest hundred logins',
        querystring: queryOf({
          ...clientIdInQuery,
          state: { type: 'string', description: 'Returns only the login that was started with this state.' },
          after: {
            type: 'string',
            pattern: '^\\d{0,15}$',
            title: 'a whole number of at most 15 digits',
            description: 'The `cursor` of an earlier answer. Returns only logins with newer steps.',
          },
          wait: {
            type: 'string',
            pattern: '^(0*([12]?\\d|30))?$',
            title: 'a whole number from 0 to 30',
            description:
              'If no login matches yet, the call waits for a matching login. It waits for at most this many seconds.',
          },
          ...loginQueryParameters,
          page,
        }),
        response: { 200: answer('The newest login comes first.', 'LoginList'), ...refusalAnswers() },
      },
      async handler(request: FastifyRequest) {
        const given = filledTextsIn(request.query)
        const { clientId, state, after, wait = '0' } = given
        const waitSeconds = Number(wait)
        const stateHash = state === undefined ? undefined : hide.hash(state)
        const filter = { clientId, state: stateHash, after: after === undefined ? undefined : Number(after) }
        const find = () => selectWith(given, logins.list(filter))
        if (waitSeconds > 0 && !isStopping && find().length === 0)
          await somethingNew(
            request,
            login => logins.isSelected(login, filter) && selectWith(given, [login]).length > 0,
            waitSeconds,
          )
        return describeList(given, find())
      },
    },

    search: {
      schema: {
        tags,
        operationId: 'searchLogins',
        summary: 'Find logins by a request id, a state, a code, a token, a client id, or words',
        description:
          'Send the text in the body, because a secret must not be in an address. The laboratory keeps only hashes of secrets, and compares the hashes.',
        querystring: queryOf({ ...clientIdInQuery, ...loginQueryParameters, page }),
        body: searchBody,
        response: { 200: answer('The newest login comes first.', 'LoginList'), ...refusalAnswers(413, 415) },
      },
      async handler(request: FastifyRequest<{ Body: FromSchema<typeof searchBody> }>) {
        const given = filledTextsIn(request.query)
        const found = await searchLogins(request.body.text, { ...reader, hide, namesOf })
        return describeList(given, selectWith(given, found))
      },
    },

    show: {
      schema: {
        tags,
        operationId: 'showLogin',
        summary:
          'Show what happened in one login: its steps, the reasons for refusals, and the notices about the client',
        params: idInPath,
        querystring: queryOf(),
        response: { 200: answer('The login with its steps.', 'Login'), ...refusalAnswers(404) },
      },
      handler: async (request: FastifyRequest) => describeLogin(requireLogin(request), reader),
    },

    showHar: {
      schema: {
        tags,
        operationId: 'showHar',
        summary: 'Show one login as HAR 1.2',
        params: idInPath,
        querystring: queryOf(),
        response: { 200: answer('The login.', 'Har'), ...refusalAnswers(404) },
      },
      handler: async (request: FastifyRequest) => toHar(requireLogin(request), addresses),
    },

    /** Ends all long polls. Call this when the laboratory stops. */
    endWaits(): void {
      isStopping = true
      for (const wait of waits) wait.abort()
    },
  }

  function requireLogin(request: FastifyRequest): RecordedLogin {
    const login = logins.find((request.params as { id: string }).id)
    if (!login) throw new LabError(404, `There is no such login. ${onlyLatestLogins}`)
    return login
  }

  function selectWith(given: Record<string, string>, all: RecordedLogin[]): RecordedLogin[] {
    const query = readLoginQuery(given)
    const now = clock()
    return all.filter(login => isFoundBy(query, login, now))
  }

  function describeList({ page = '1' }: Record<string, string>, found: RecordedLogin[]) {
    const first = (Number(page) - 1) * mostListed
    return {
      logins: found.slice(first, first + mostListed).map(login => describeSummary(login, reader)),
      total: found.length,
      cursor: logins.newest(),
    }
  }

  /**
   * Resolves in four cases: one of the requested logins has a new step, the time has passed, the caller has closed the
   * connection, or the laboratory stops.
   */
  async function somethingNew(
    request: FastifyRequest,
    isAskedFor: (login: RecordedLogin) => boolean,
    seconds: number,
  ): Promise<void> {
    const enough = new AbortController()
    waits.add(enough)
    const stop = logins.listen(login => {
      if (isAskedFor(login)) enough.abort()
    })
    request.raw.once('close', () => enough.abort())
    await wait(seconds * 1000, undefined, { signal: enough.signal }).catch(() => {})
    stop()
    waits.delete(enough)
  }
}
