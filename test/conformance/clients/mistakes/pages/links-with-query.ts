// Clients that lose the query of a link from another site.
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

/** Whether the answer is the page that loads the same address again. */
const isLoadedAgain = (body: string) => body.includes('http-equiv="refresh"')

export const linksWithQuery: Mistake[] = [
  mistake(
    'link-from-another-site-loses-its-query',
    ['link-query-kept', 'link-query-kept-by-login'],
    bodyWith((body, { headers, url }) =>
      headers['sec-fetch-site'] === 'cross-site' && isLoadedAgain(body) && url.pathname !== '/exchangeToken'
        ? body.replaceAll(/(url=|href=")([^"?]*)\?[^"]*/g, '$1$2')
        : body,
    ),
  ),
]
