import { fault } from './fault.ts'

const subjectOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).sub as string

export const opaqueTokens = [
  fault(
    'token-must-be-a-jwt',
    ['opaque-token-plain', 'opaque-token-dotted', 'opaque-token-plain-no-crash', 'opaque-token-dotted-no-crash'],
    { visitorOf: ({ accessToken }) => subjectOf(accessToken) },
  ),
  fault('forms-need-the-id-of-the-token', ['opaque-token-plain-create', 'opaque-token-dotted-create'], {
    isFormOf: (form, visitor) => form.visitor === visitor && /^[\da-f]{8}-/.test(visitor),
  }),
]
