// Looks for secrets and personal texts in the output of the client.
import type { CheckContext } from '../../context.ts'
import { expect } from '../../findings.ts'
import { spellings } from '../../steps/leaks.ts'

/**
 * Fails if the output of the client contains one of these values, in any encoding that programs print. Ignores values
 * of less than 16 characters, because such a short text could be in the output by coincidence.
 */
export function expectUnprinted(context: CheckContext, what: string, values: (string | undefined)[]): void {
  const lines = context.clientProcess!.output().split('\n')
  for (const text of values.flatMap(value => spellings(value ?? ''))) {
    const line = lines.find(one => one.includes(text))
    expect(
      line === undefined,
      `The output of the client contains ${what}.`,
      // The report hides the value of a field up to the next space, but does not hide a value that begins with <.
      `${line?.split(text).join(`<${what}>`).slice(0, 300)}`,
    )
  }
}
