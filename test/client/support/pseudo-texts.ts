// The English text in a made-up language: `[!! Sígn ín !!]`. With PSEUDO_TEXTS=1, all tests run with this made-up text.
// A test that fails only with the made-up text has found one of two mistakes: the test contains a hard-coded English
// string that it should import, or a page shows an English word that is missing from the files of texts. A test that
// starts a process imports this file into the process.
import { globSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { unescapeHtml } from './read-form.ts'

export const isPseudo = process.env.PSEUDO_TEXTS === '1'

const accents: Record<string, string> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ó',
  u: 'ú',
  A: 'Á',
  E: 'É',
  I: 'Í',
  O: 'Ó',
  U: 'Ú',
}

type Values = (string | number | undefined)[]

/** Returns the sentence in the made-up language. The values in the sentence stay as they are. */
function toPseudo(sentence: string, values: Values = []): string {
  const kept = values.map(String).filter(Boolean)
  const parts = kept.reduce((all, value) => all.flatMap(part => splitAround(part, value)), [sentence])
  const accented = parts.map(part =>
    kept.includes(part) ? part : part.replace(/[aeiou]/gi, letter => accents[letter] ?? letter),
  )
  return `[!! ${accented.join('')} !!]`
}

function splitAround(text: string, value: string): string[] {
  return text.split(value).flatMap((part, index) => (index === 0 ? [part] : [value, part]))
}

/** Returns a copy of the texts in the made-up language. */
export function pseudoOf<T extends object>(texts: T): T {
  const translated = Object.entries(texts).map(([name, text]) => {
    if (typeof text === 'string') return [name, toPseudo(text)]
    if (typeof text === 'function') return [name, (...values: Values) => toPseudo(text(...values), values)]
    return [name, pseudoOf(text as object)]
  })
  return Object.fromEntries(translated)
}

/** Changes the texts in place, so that every module and every test sees the made-up texts. */
function makePseudo(texts: object): void {
  for (const [name, translated] of Object.entries(pseudoOf(texts))) {
    const before = (texts as Record<string, unknown>)[name]
    if (typeof before === 'object' && before !== null) makePseudo(before)
    else Object.assign(texts, { [name]: translated })
  }
}

if (isPseudo) {
  const folder = fileURLToPath(new URL('../../../src/client', import.meta.url))
  for (const path of globSync(`${folder}/**/*texts.ts`)) {
    const module: object = await import(pathToFileURL(path).href)
    for (const texts of Object.values(module)) if (typeof texts === 'object') makePseudo(texts)
  }
}

const shownAttributes = /\s(?:title|aria-label|alt|placeholder|data-busy|data-empty-choice|data-texts)="([^"]*)"/g

/**
 * Finds English words on a page in the made-up language: in its title, its text, and the attributes that people read or
 * hear. Such a word is missing from the files of texts. `data` contains names and values that do not come from the
 * texts. The function ignores times and typed text.
 */
export function findUntranslated({ body }: { body: string }, data: string[]): string[] {
  const timeless = body.replace(/<time\b.*?<\/time>/gs, ' ')
  const attributes = [...timeless.matchAll(shownAttributes)].map(([, value]) => value!)
  const text = timeless.replace(/<(style|script|textarea)\b[^>]*>.*?<\/\1>/gs, ' ').replace(/<[^>]*>/g, ' ')
  return [text, ...attributes].flatMap(shown => {
    // Removes the property names of the attribute data-texts, which contains JSON.
    let rest = unescapeHtml(shown)
      .replace(/\s+/g, ' ')
      .replace(/"\w+":/g, '|')
    // Removes the inner strings first, because one string can contain another.
    for (let before = ''; before !== rest; ) {
      before = rest
      rest = rest.replace(/\[!!(?:(?!\[!!|!!\]).)*!!\]/g, '|')
    }
    for (const one of data) rest = rest.replaceAll(one, '|')
    return rest.split('|').filter(left => /\p{L}{2}/u.test(left))
  })
}
