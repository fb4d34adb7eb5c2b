// Clients that divide a long list of applications into pages, and leave applications out.
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

const pageSize = 50

/** Divides the list into pages. `itemsOf` returns the items of one page. */
const inPages = (itemsOf: (items: string[], page: number) => string[]) =>
  bodyWith((body, { url, query }) => {
    const items = body.match(/<li>.*?<\/li>/g) ?? []
    if (url.pathname !== '/applications' || items.length <= pageSize) return body
    const list = `<ul>${itemsOf(items, Number(query.get('page') ?? 1)).join('')}</ul>`
    return body.replace(/<ul>.*<\/ul>/, `${list}<a href="/applications?page=2">Next</a>`)
  })

export const longList: Mistake[] = [
  mistake(
    'second-page-of-the-list-empty',
    'list-every-page',
    inPages((items, page) => items.slice((page - 1) * pageSize, pageSize)),
  ),
  mistake(
    'last-application-of-the-list-missing',
    'list-every-page',
    inPages((items, page) => items.slice((page - 1) * pageSize, Math.min(page * pageSize, items.length - 1))),
  ),
]
