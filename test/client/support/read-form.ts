// Reads the forms of a page as a browser would: the values of the fields and the problem with each field.
import type { LightMyRequestResponse } from 'fastify'
import { webTexts } from '../../../src/client/web/texts.ts'

type Page = Pick<LightMyRequestResponse, 'body'>

/** Finds the form that the page sends to `action`. Returns the values of this form, keyed by field name. */
export function readForm({ body }: Page, action: string): Record<string, string> {
  const forms = [...body.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)]
  const form = forms.find(
    ([, attributes]) => attributeOf(attributes!, 'action') === action && / method="post"/.test(attributes!),
  )
  if (!form) throw new Error(`The page has no form for ${action}.`)
  const inside = form[2]!
  const fields: Record<string, string> = {}
  for (const [, attributes] of inside.matchAll(/<input\b([^>]*)>/g))
    fields[attributeOf(attributes!, 'name') ?? ''] = attributeOf(attributes!, 'value') ?? ''
  // Browsers turn \r\n into \n, and drop a line break at the beginning.
  for (const [, attributes, text] of inside.matchAll(/<textarea\b([^>]*)>(.*?)<\/textarea>/gs))
    fields[attributeOf(attributes!, 'name') ?? ''] = unescapeHtml(text!.replaceAll('\r\n', '\n').replace(/^\n/, ''))
  for (const [, attributes, options] of inside.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gs)) {
    const choices = [...options!.matchAll(/<option\b([^>]*)>(.*?)<\/option>/gs)]
    const chosen = choices.find(([, option]) => / selected/.test(option!)) ?? choices[0]
    fields[attributeOf(attributes!, 'name') ?? ''] = chosen
      ? (attributeOf(chosen[1]!, 'value') ?? unescapeHtml(chosen[2]!))
      : ''
  }
  return fields
}

/**
 * Returns the problem that the page shows for a field, or undefined if there is none. The function finds the problem by
 * `aria-describedby`, as a screen reader does.
 */
export function faultOf({ body }: Page, field: string): string | undefined {
  const element = [...body.matchAll(/<(?:input|textarea|select)\b([^>]*)>/g)].find(
    ([, attributes]) => attributeOf(attributes!, 'name') === field,
  )
  if (!element || !/ aria-invalid="true"/.test(element[1]!)) return undefined
  const ids = attributeOf(element[1]!, 'aria-describedby')?.split(' ') ?? []
  const texts = ids.filter(id => id.endsWith('-error')).map(id => textOf({ body }, id))
  return texts.join(' ').trim() || undefined
}

/** Returns the visible text of a page, or of its element with this id. */
export function textOf({ body }: Page, id?: string): string {
  const main = id
    ? new RegExp(`<(\\w+)[^>]* id="${id}"[^>]*>(.*?)</\\1>`, 's').exec(body)?.[2]
    : /<main\b[^>]*>(.*)<\/main>/s.exec(body)?.[1]
  return unescapeHtml((main ?? '').replace(/<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()
}

/** Returns the addresses of all links on a page. */
export function linksOf({ body }: Page): string[] {
  return [...body.matchAll(/<a\b([^>]*)>/g)].map(([, attributes]) => attributeOf(attributes!, 'href') ?? '')
}

export function unescapeHtml(text: string): string {
  return text
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

function attributeOf(attributes: string, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : unescapeHtml(value)
}

/**
 * Returns a line of the summary above a form. If the text of a problem does not name the field, the summary puts the
 * field's label in front.
 */
export function summaryLine(label: string, problem: string): string {
  const isNamed = problem.toLowerCase().includes(label.toLowerCase())
  return isNamed ? problem : webTexts.form.problemOf(label, problem)
}
