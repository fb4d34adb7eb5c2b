// A client that divides a long list of applications into pages, and leaves applications out.
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

const pageSize = 50

export const longList: Mistake[] = [
  mistake(
    'second-page-of-the-list-empty',
    'list-every-page',
    bodyWith((body, { url, query }) => {
      const items = body.match(/<li>.*?<\/li>/g) ?? []
      if (url.pathname !== '/applications' || items.length <= pageSize) return body
      const first = (Number(query.get('page') ?? 1) - 1) * pageSize
      const list = `<ul>${items.slice(first, pageSize).join('')}</ul>`
      return body.replace(/<ul>.*<\/ul>/, `${list}<a href="/applications?page=2">Next</a>`)
    }),
  ),
]
