// Combines the English texts with the texts that a product sets instead. Each part has its English texts in a separate file:
// texts.ts in its folder, start-texts.ts or upstream-texts.ts.

/**
 * The texts of one language. Each part adds its own texts:
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

/** Some of the texts, to replace the English texts. */
export type SomeTexts<T = Texts> = { [Name in keyof T]?: T[Name] extends Text ? T[Name] : SomeTexts<T[Name]> }

/**
 * A text, or a function that selects a text from all texts of a language. Errors hold functions, because the code that
 * throws an error may not know the request.
 */
export type Sentence = string | ((texts: Texts) => string)

export function say(sentence: Sentence, texts: Texts): string {
  return typeof sentence === 'function' ? sentence(texts) : sentence
}

export type TextsOf<R> = ReturnType<typeof createTexts<R>>

/**
 * `replacements` is an object with texts for every request, or a function that chooses such an object for a request of
 * the type `R`.
 */
export function createTexts<R>(english: Texts, replacements: SomeTexts | ((request: R) => SomeTexts) = {}) {
  let combinations = new WeakMap<SomeTexts, Texts>()

  /**
   * A product returns the same object for the same language, so each object is combined with the English texts only
   * once.
   */
  function combine(chosen: SomeTexts): Texts {
    const known = combinations.get(chosen)
    if (known) return known
    const texts = replaceTexts(english, chosen)
    combinations.set(chosen, texts)
    return texts
  }

  return {
    /** Adds the English texts of a part. */
    add(part: Partial<Texts>): void {
      Object.assign(english, part)
      combinations = new WeakMap()
    },
    of: (request: R): Texts => combine(typeof replacements === 'function' ? replacements(request) : replacements),
    /** The texts for a response that belongs to no request, and for an error in the product's function. */
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

/** The text before and after the value, for a template that puts markup around the value. */
export function around(text: (value: string) => string): [before: string, after: string] {
  const [before = '', after = ''] = text('\0').split('\0')
  return [before, after]
}
