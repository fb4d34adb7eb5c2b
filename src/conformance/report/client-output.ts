// The output of the client during a check, which often explains a failure better than the answers of the client.
import { hashOf } from './hide.ts'

const mostLines = 24
const longestLine = 300
/** Words with which errors begin in the logs of most languages. */
const error = /\b(error|exception|traceback|panic|fatal|unhandled|uncaught|undefined method|segfault)\b|Error:|^\s+at /i

/** Undefined if the client printed nothing. If the output is long, returns the part after the first error, or the end. */
export function describeOutput(output: string, secretsOf: () => string[]): string | undefined {
  if (output.trim() === '') return undefined
  const lines = withoutSecrets(output, secretsOf()).trimEnd().split(/\r?\n/)
  const first = lines.findIndex(line => error.test(line))
  const from = lines.length <= mostLines ? 0 : first < 0 ? lines.length - mostLines : Math.max(0, first - 2)
  const shown = lines.slice(from, from + mostLines)
  const left = lines.length - shown.length
  return [
    `The client printed meanwhile${left > 0 ? `, among ${left} more lines` : ''}:`,
    ...shown.map(line => `  ${line.length > longestLine ? `${line.slice(0, longestLine)}…` : line}`),
  ].join('\n')
}

function withoutSecrets(text: string, secrets: string[]): string {
  return [...new Set(secrets)].reduce((left, secret) => left.replaceAll(secret, hashOf(secret)), text)
}
