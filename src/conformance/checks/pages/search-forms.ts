// Checks the search of the page behind the login.
import type { Page } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect } from '../../findings.ts'
import { runsScript } from '../../steps/page-content.ts'
import { openSearches } from '../../steps/searches.ts'

const script = 'conformance()'
/** Each of these strings breaks out of a place in which pages usually show a search: text, an attribute or a script. */
const hostile = [
  `<img src=x onerror=${script}>`,
  `"><img src=x onerror=${script}>`,
  `'><img src=x onerror=${script}>`,
  `" onfocus="${script}`,
  `</title></textarea></script><img src=x onerror=${script}>`,
]
/** Strings with a special meaning in regular expressions, format strings, templates or queries. */
const odd = ['[', '(', '\\', '*', '%', '{}', '{{1}}', '%s', "'", '"', '$', '😀', 'İ', ' ', 'a'.repeat(5000)]

export const searchForms: CheckDefinition[] = [
  {
    id: 'search-escapes',
    title: 'The page with the results of a search escapes the text that the visitor searched for',
    rule: 'PG-07',
    why: 'Anybody can make a link to a search. If the page does not escape the text, a visitor who opens this link runs the script of a stranger.',
    fix: 'Let the template escape the text wherever the page shows it: in the title, in the heading and in the value of the field.',
    needs: ['page'],
    async run(context) {
      await searchForEach(context, hostile, (found, _text, field) =>
        expect(!runsScript(found, script), `The page does not escape the text of the field ${field}.`, found),
      )
    },
  },
  {
    id: 'search-odd-texts',
    title: 'Whatever a visitor searches for, the client answers with a page',
    rule: 'stays-up',
    why: 'If the client uses the text as a regular expression, as a format string or as a part of a query, some searches raise an error.',
    fix: 'Compare the text as it is. Do not put it into a regular expression, a format string or a query.',
    needs: ['page'],
    async run(context) {
      await searchForEach(context, odd, (found, text) =>
        expect(
          found.status > 0 && found.status < 500,
          `The visitor searched for ${JSON.stringify(text.slice(0, 20))}, and the client answered with ${describePage(found)}.`,
          found,
        ),
      )
    },
  },
]

/** Searches for each text with each search on the page behind the login, and judges the page with the results. */
async function searchForEach(
  context: CheckContext,
  texts: string[],
  judge: (found: Page, text: string, field: string) => void,
): Promise<void> {
  const { browser, page, searches } = await openSearches(context)
  if (searches.length === 0) throw new NotApplicable('the page behind the login has no form for a search')
  for (const { form, field } of searches)
    for (const text of texts) judge(await browser.submit(page, form, { [field]: text }), text, field)
}
