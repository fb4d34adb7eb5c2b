// Looks for secrets and personal data in the output of the client.
import { Undecided } from '../check.ts'
import type { CheckContext } from '../context.ts'
import { fail } from '../findings.ts'
import { spellings } from './leaks.ts'

/** A program writes its output and its answer at the same time, but the output can arrive a moment later. */
const arrivalMs = 50

/**
 * Returns what the client has printed in this round, including what it has printed about the last answer. With --watch,
 * an earlier round judged another version of the client.
 */
export async function arrivedOutput(context: CheckContext): Promise<string> {
  await context.pause(arrivalMs)
  return context.clientProcess!.output(context.platform.round.output)
}

/**
 * Fails if the output of the client contains one of these values, in any encoding that programs print. Ignores values
 * of less than 16 characters, because such a short value could be in the output by coincidence.
 */
export async function expectUnprinted(
  context: CheckContext,
  what: string,
  values: (string | undefined)[],
): Promise<void> {
  const texts = values.flatMap(value => spellings(value ?? ''))
  if (texts.length === 0) return
  const output = await arrivedOutput(context)
  for (const text of texts) {
    const at = output.indexOf(text)
    if (at < 0) continue
    const [line = ''] = output.slice(output.lastIndexOf('\n', at) + 1).split('\n', 1)
    // The report hides the value of a field up to the next space, but does not hide a value that begins with <.
    fail(`The output of the client contains ${what}.`, line.split(text).join(`<${what}>`).slice(0, 300))
  }
  expectOutputSince(context, context.outputStart)
}

/**
 * Ends the check as undecided if the suite no longer has everything that the client has printed since this position.
 */
export function expectOutputSince({ clientProcess }: CheckContext, position: number): void {
  if (!clientProcess!.hasOutputSince(position))
    throw new Undecided('The client printed so much that the suite no longer has the first part of its output.')
}
