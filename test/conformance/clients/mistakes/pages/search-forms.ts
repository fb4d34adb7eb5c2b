// Clients whose list has a search, and that mishandle the text that a visitor searched for.
import { correct } from '../../behaviour.ts'
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

/** Shows a search above the list. `show` returns the searched text as HTML. */
const withSearch = (show: (text: string) => string) =>
  bodyWith((body, { url, query }) => {
    if (url.pathname !== '/applications') return body
    const text = query.get('q') ?? ''
    return body.replace('<ul>', `<form><input type="search" name="q" value="${show(text)}"></form><ul>`)
  })

export const searchForms: Mistake[] = [
  mistake(
    'search-not-escaped',
    'search-escapes',
    withSearch(text => text),
  ),
  mistake(
    'quotes-of-a-search-not-escaped',
    'search-escapes',
    withSearch(text => text.replaceAll('<', '&lt;')),
  ),
  mistake(
    'search-as-a-regular-expression',
    'search-odd-texts',
    withSearch(text => correct.html(new RegExp(text).source)),
  ),
]
