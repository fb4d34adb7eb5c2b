// Clients that leave applications out of the list: when they divide a long list into pages, or when several applications
// have the same name.
import { type Behaviour, correct } from '../../behaviour.ts'
import { sendWith } from '../../call-changes.ts'
import { bodyWith } from '../../changes.ts'
import { type Mistake, mistake } from '../../mistake.ts'

const pageSize = 50

/** Replaces a list of more than `size` applications. `change` gets the items and returns HTML. */
const inLongList = (size: number, change: (items: string[], query: URLSearchParams) => string) =>
  bodyWith((body, { url, query }) => {
    const items = body.match(/<li>.*?<\/li>/g) ?? []
    if (url.pathname !== '/applications' || items.length <= size) return body
    return body.replace(/<ul>.*<\/ul>/, change(items, query))
  })

/**
 * Divides the list into pages of this size. Links to the other pages are above and below the list. `itemsOf` returns the
 * items of one page, and gets the number of the page.
 */
export const inPages = (
  size: number,
  itemsOf = (items: string[], page: number) => items.slice((page - 1) * size, page * size),
) =>
  inLongList(size, (items, query) => {
    const numbers = Array.from({ length: Math.ceil(items.length / size) }, (_, index) => index + 1)
    const links = numbers.map(number => `<a href="/applications?page=${number}">${number}</a>`).join('')
    const pager = `${links}<a href="/applications?page=2">Next</a><a href="/applications?from=menu">All</a>`
    const list = `<ul>${itemsOf(items, Number(query.get('page') ?? 1)).join('')}</ul>`
    return `${pager}${list}${pager}`
  })

/** Collects the applications in a map. If several applications have the same key, the list shows only the last one. */
const listBy = (keyOf: (name: string) => string): Partial<Behaviour> => ({
  readList: answer => [...new Map(correct.readList(answer).map(one => [keyOf(one.name), one])).values()],
})

/** Keeps the answer to the call for the list, and shows it again to the same visitor. */
const keepsTheList = sendWith(
  ({ method, url }) => method === 'GET' && url.endsWith('/apps/v1'),
  async (visit, call, send) => {
    const key = `list ${call.headers.authorization}`
    const known = visit.memory.get(key) as Awaited<ReturnType<typeof send>> | undefined
    const answer = known ?? (await send())
    visit.memory.set(key, answer)
    return answer
  },
)

export const wholeList: Mistake[] = [
  mistake('list-kept-for-each-visitor', 'list-current', keepsTheList),
  mistake(
    'rest-of-the-list-missing',
    'list-every-page',
    inLongList(pageSize, items => `<ul>${items.slice(0, pageSize).join('')}</ul>`),
  ),
  mistake(
    'second-page-of-the-list-empty',
    'list-every-page',
    inPages(pageSize, (items, page) => items.slice((page - 1) * pageSize, pageSize)),
  ),
  mistake(
    'last-application-of-the-list-missing',
    'list-every-page',
    inPages(pageSize, (items, page) => items.slice((page - 1) * pageSize, Math.min(page * pageSize, items.length - 1))),
  ),
  mistake('short-answers-only', 'list-every-page', {
    send(visit, request) {
      return correct.send(visit, { ...request, most: Math.min(request.most, 65_536) })
    },
  }),
  mistake(
    'list-by-name',
    'list-same-name',
    listBy(name => name),
  ),
  mistake(
    'list-by-name-in-lower-case',
    'list-same-name',
    listBy(name => name.toLowerCase()),
  ),
]
