// Clients that lose the query of a link from another site.
import { correct } from '../../behaviour.ts'
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'
import { inPages } from './whole-list.ts'

/** Whether the answer is the page that loads the same address again. */
const isLoadedAgain = (body: string) => body.includes('http-equiv="refresh"')

const losesQuery = bodyWith((body, { headers, url }) =>
  headers['sec-fetch-site'] === 'cross-site' && isLoadedAgain(body) && url.pathname !== '/exchangeToken'
    ? body.replaceAll(/(url=|href=")([^"?]*)\?[^"]*/g, '$1$2')
    : body,
)

const listInPages = inPages(50)

export const linksWithQuery: Mistake[] = [
  mistake('link-from-another-site-loses-its-query', ['link-query-kept', 'link-query-kept-by-login'], losesQuery),
  mistake('link-from-another-site-loses-the-search', 'link-query-kept', {
    ...losesQuery,
    afterLogin: (visit, login) => correct.afterLogin(visit, { ...login, returnTo: login.returnTo.split('?')[0]! }),
    itemOf: (visit, application) => `${correct.itemOf(visit, application)}<form><input type="search" name="q"></form>`,
  }),
  mistake('link-from-another-site-loses-the-page-of-the-list', 'link-query-kept', {
    aroundRequest: (visit, next) => losesQuery.aroundRequest!(visit, () => listInPages.aroundRequest!(visit, next)),
    afterLogin: (visit, login) => correct.afterLogin(visit, { ...login, returnTo: login.returnTo.split('?')[0]! }),
  }),
]
