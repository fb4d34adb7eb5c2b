// Replaces some of the client's English texts with a product's own texts. Each part of the client has its own file with
// English texts: texts.ts in the folder of the part. The texts of the start page and of failed calls are in this
// folder, in start-texts.ts and upstream-texts.ts.

/**
 * The texts of one language. Each part of the client adds its own texts:
 *
 *   declare module '../texts.ts' {
 *     interface Texts { notes: typeof notesTexts }
 *   }
 */
export interface Texts {
  /** The language of the page, as in `<html lang>` (BCP 47). Dates are formatted for this language. */
  lang: string
}

type Text = string | ((...values: never[]) => string)

/** The texts that a product sets. They replace the English texts with the same names. */
export type SomeTexts<T = Texts> = { [Name in keyof T]?: T[Name] extends Text ? T[Name] : SomeTexts<T[Name]> }

/**
 * A string, or a function that selects one string from all texts of a language. Errors contain functions, because code
 * that throws an error may not know the language of the request.
 */
export type Sentence = string | ((texts: Texts) => string)

export function say(sentence: Sentence, texts: Texts): string {
  return typeof sentence === 'function' ? sentence(texts) : sentence
}

export type TextsOf<R> = ReturnType<typeof createTexts<R>>

/**
 * `replacements` contains the texts that replace English texts. It is an object for all requests, or a function that
 * returns such an object for one request. `R` is the type of the request.
 */
export function createTexts<R>(english: Texts, replacements: SomeTexts | ((request: R) => SomeTexts) = {}) {
  let combinations = new WeakMap<SomeTexts, Texts>()

  /**
   * Returns the English texts with the replacements in `chosen`. The result is kept, because a product passes the same
   * object for all requests in one language.
   */
  function combine(chosen: SomeTexts): Texts {
    const known = combinations.get(chosen)
    if (known) return known
    const texts = replaceTexts(english, chosen)
    combinations.set(chosen, texts)
    return texts
  }

  return {
    /** Adds the English texts of one part of the client. */
    add(part: Partial<Texts>): void {
      Object.assign(english, part)
      combinations = new WeakMap()
    },
    of: (request: R): Texts => combine(typeof replacements === 'function' ? replacements(request) : replacements),
    /** Returns the texts to use if there is no request, or if the product's function throws an error. */
    withoutRequest: (): Texts => (typeof replacements === 'function' ? english : combine(replacements)),
  }
}

function replaceTexts<T extends object>(texts: T, replacements: SomeTexts<T>): T {
  const entries = Object.entries(replacements).map(([name, value]) => {
    const before = texts[name as keyof T]
    return [name, typeof value === 'object' ? replaceTexts(before as object, value as object) : value]
  })
  return { ...texts, ...Object.fromEntries(entries) }
}

/** Returns the text before the value and the text after it, so that a template can put markup around the value. */
export function around(text: (value: string) => string): [before: string, after: string] {
  const [before = '', after = ''] = text('\0').split('\0')
  return [before, after]
}
