// E-mail addresses of accounts.

/** The longest e-mail address that RFC 5321 4.5.3.1.3 allows between the angle brackets. */
export const longestEmail = 254

/**
 * E-mail addresses are stored and compared in this form, so that two accounts cannot have addresses that look the same.
 * Normalise an address before you validate it: NFKC turns a full-width ＠ into @. If a string is too long for an
 * address, the function returns an empty string and does not normalise it. The time to normalise a string grows with
 * the square of its length.
 */
export function normaliseEmail(email: string): string {
  const text = email.trim()
  return text.length > longestEmail ? '' : text.normalize('NFKC').trim().toLowerCase()
}
