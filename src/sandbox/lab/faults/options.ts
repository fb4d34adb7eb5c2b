// The options of faults: what each may be, said in words, and checked.
export interface Option {
  /** One sentence. */
  about: string
  /** The end of a sentence that begins with "This must be". */
  allowed: string
  /** What it is when it is left out. */
  default?: unknown
  /** Without it nothing can be ordered. */
  isNeeded?: true
  isAllowed(value: unknown): boolean
}

export type Options = Record<string, Option>

export function numberFrom(least: number, most: number, words: { about: string; default: number }): Option {
  const isAllowed = (value: unknown) => typeof value === 'number' && value >= least && value <= most
  return { ...words, allowed: `a number from ${least} to ${most}`, isAllowed }
}

export function wholeNumberFrom(least: number, most: number, about: string): Option {
  const isAllowed = (value: unknown) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most
  return { about, isNeeded: true, allowed: `a whole number from ${least} to ${most}`, isAllowed }
}

export function textUpTo(longest: number, words: { about: string; default?: string }): Option {
  const isAllowed = (value: unknown) => typeof value === 'string' && value.length <= longest
  return { ...words, allowed: `a text of at most ${longest} characters`, isAllowed }
}

/** As JSON, in at most 10,000 characters. */
export function anyJson(about: string): Option {
  const isAllowed = (value: unknown) => value !== undefined && JSON.stringify(value).length <= 10_000
  return { about, isNeeded: true, allowed: 'any JSON of at most 10,000 characters', isAllowed }
}

/** Seconds, or any text; a header takes no control characters and no others than Latin-1. */
export const retryAfter: Option = {
  about: 'The Retry-After header, in seconds, as a date, or as any text; without it there is none.',
  allowed: 'a whole number from 0 to 86400, or a text of at most 200 printable ASCII characters',
  isAllowed: value =>
    (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 86_400) ||
    (typeof value === 'string' && /^[\x20-\x7e]{0,200}$/.test(value)),
}
