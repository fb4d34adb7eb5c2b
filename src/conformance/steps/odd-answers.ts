// Answers of the platform that are neither a success nor a refusal in the usual format. Checks order them as answers to
// the exchange, the renewal and the API calls.

const json = 'application/json; charset=utf-8'

/** Some JSON libraries raise a special error if a document is nested this deeply. */
const deep = '['.repeat(60_000)

interface OddAnswer {
  /** The description of the answer in a finding. */
  what: string
  /** The last part of the name of the fault, such as `answer`. */
  kind: string
  options: Record<string, unknown>
}

const answer = (what: string, status: number, body: string): OddAnswer => ({
  what,
  kind: 'answer',
  options: { status, body, type: json },
})

/** Retry-After can be a number of seconds or a date (RFC 9110, 10.2.3), and some servers send other text. */
export const oddPauses = ['Wed, 21 Oct 2037 07:28:00 GMT', 'soon', '-5', '1.5', '99999999999999999999']

const pauses: OddAnswer[] = oddPauses.map(retryAfter => ({
  what: `the Retry-After ${retryAfter}`,
  kind: '503',
  options: { retryAfter },
}))

/** Answers that replace the portal's errors. None of them says that a refresh token is invalid. */
export const oddPortalAnswers: OddAnswer[] = [
  answer('an error that is null', 400, '{"error":null,"error_description":null}'),
  answer('an error that is a number', 400, '{"error":5,"error_description":7}'),
  answer('an error that is an object', 401, '{"error":{"code":"server_error"}}'),
  answer('a list in place of an object', 400, '["server_error"]'),
  answer('a string in place of an object', 400, '"server_error"'),
  answer('JSON that is 60,000 levels deep', 200, deep),
  answer('an error in JSON that is 60,000 levels deep', 400, deep),
  ...pauses,
]

/** Answers that replace the API's errors. */
export const oddApiAnswers: OddAnswer[] = [
  answer('an error that is null', 422, '{"error":null}'),
  answer('an error that is a string', 422, '{"error":"Refused"}'),
  answer('a message that is null', 422, '{"error":{"status":422,"message":null}}'),
  answer('a message that is a list', 422, '{"error":{"status":422,"message":["name",null,5]}}'),
  answer(
    'a message with fields of several types',
    422,
    '{"error":{"status":422,"message":{"name":null,"redirectUris":{"0":"a"},"groupId":"b","iconUrl":[null,5],"__proto__":["c"]}}}',
  ),
  answer('a list in place of an object', 422, '["Refused"]'),
  answer('a string in place of an object', 403, '"Refused"'),
  answer('an error in JSON that is 60,000 levels deep', 500, deep),
  ...pauses,
]
