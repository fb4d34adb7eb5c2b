// What takes long to start, lent by `npm test` to all test files of a run: see scripts/lend.ts.

/** What can be borrowed. */
export type Lent = 'postgres' | 'chromium' | 'shell'

/** Names the lender's address. */
export const lenderVariable = 'TEST_LENDER'

/** The address of one that runs already; undefined where a file is run by itself, and has to start its own. */
export async function borrow(what: Lent): Promise<string | undefined> {
  const lender = process.env[lenderVariable]
  if (!lender) return undefined
  const answer = await fetch(`${lender}/${what}`)
  if (!answer.ok) throw new Error(await answer.text())
  return answer.text()
}
