// PostgreSQL and Chromium take long to start, so `npm test` shares them between all test files (scripts/lend.ts).

/** What can be borrowed. */
export type Lent = 'postgres' | 'chromium' | 'shell'

/** Names the lender's address. */
export const lenderVariable = 'TEST_LENDER'

/** The address of a shared one. Undefined if a file runs on its own, and must start its own. */
export async function borrow(what: Lent): Promise<string | undefined> {
  const lender = process.env[lenderVariable]
  if (!lender) return undefined
  const answer = await fetch(`${lender}/${what}`)
  if (!answer.ok) throw new Error(await answer.text())
  return answer.text()
}
