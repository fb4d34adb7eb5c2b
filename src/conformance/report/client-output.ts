// Adds the client's output during a check to the evidence. This output often explains a failure better than the
// client's answers.
import { hashOf } from './hide.ts'

const mostLines = 24
const longestLine = 300
/** Words at the beginning of an error in the logs of most languages. */
const error = /\b(error|exception|traceback|panic|fatal|unhandled|uncaught|undefined method|segfault)\b|Error:|^\s+at /i

/**
 * Returns undefined if the client printed nothing. If the output is long, the function returns the part that begins
 * just before the first error. If there is no error, the function returns the end of the output.
 */
export function describeOutput(
  output: string,
  secretsOf: () => string[],
  heading = 'The client printed',
): string | undefined {
  if (output.trim() === '') return undefined
  const lines = withoutSecrets(output, secretsOf()).trimEnd().split(/\r?\n/)
  const first = lines.findIndex(line => error.test(line))
  const from = lines.length <= mostLines ? 0 : first < 0 ? lines.length - mostLines : Math.max(0, first - 2)
  const shown = lines.slice(from, from + mostLines)
  const left = lines.length - shown.length
  return [
    `${heading}${left > 0 ? `, besides ${left} other lines` : ''}:`,
    ...shown.map(line => `  ${line.length > longestLine ? `${line.slice(0, longestLine)}…` : line}`),
  ].join('\n')
}

function withoutSecrets(text: string, secrets: string[]): string {
  return [...new Set(secrets)].reduce((left, secret) => left.replaceAll(secret, hashOf(secret)), text)
}
