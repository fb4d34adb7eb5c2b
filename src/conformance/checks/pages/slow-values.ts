// Checks with values for which a badly written regular expression needs seconds or minutes.
import { type HttpExchange, noRedirects, type Page } from '../../browser/browser.ts'
import type { Values } from '../../browser/form.ts'
import { type Check, type CheckDefinition, NotApplicable, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, fail, statusOf, waitedMs } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { filledFields, ownForm } from '../../steps/application-pages.ts'
import { cookieHeader, typedAddress } from '../../steps/callback.ts'
import { findCreateForm, type OpenForm, openCreateForm, openFormIn } from '../../steps/create-form.ts'

/**
 * How many milliseconds a client may need for a value. A good client needs a few milliseconds, or a few hundred
 * milliseconds on a busy machine.
 */
const mostMs = 3000

/**
 * Sends values of one family with more and more repetitions. A typical exponential regular expression needs a few
 * milliseconds for 20 repetitions, and many seconds for 31 repetitions. If 20 repetitions already take 50 ms, 31 could
 * keep the client busy for minutes, so the function first tries numbers between 20 and 31. `send` returns how many
 * milliseconds the answer took, and throws if it took too long.
 */
async function repeatMore(send: (repetitions: number) => Promise<number>): Promise<void> {
  const tookMs = await send(20)
  if (tookMs >= 50) for (const repetitions of [23, 25, 27, 29]) await send(repetitions)
  await send(31)
}

/**
 * Each function makes a value that repeats a string and ends with a character that a regular expression for such
 * strings does not match. The check `create-slow-values` also sends these families in each field separately, because
 * some clients stop at the first wrong field.
 */
const fieldFamilies: Record<string, (count: number) => string> = {
  'a letter': count => `${'a'.repeat(count)}!`,
  'a letter before two commas': count => `${'a'.repeat(count)},,`,
  'an address and a comma': count => `${'https://a.example/x,'.repeat(count)}!`,
  'an address and a comma before a wrong address': count =>
    `${'https://a.example/x,'.repeat(count)}https://a.example/#x`,
  'an address and a line break before a wrong address': count =>
    `${'https://a.example/x\n'.repeat(count)}https://a.example/#x`,
  'a letter and a comma': count => `${'a,'.repeat(count)}!`,
  'a letter and a space': count => `${'a '.repeat(count)}!`,
  'an address and a space': count => `${'https://a.example/x '.repeat(count)}!`,
  'an address and a line break': count => `${'https://a.example/x\n'.repeat(count)}!`,
  'a letter in the host of an address': count => `https://${'a'.repeat(count)}!`,
  'a label in the host of an address': count => `https://${'a.'.repeat(count)}!`,
  'a segment in the path of an address': count => `https://a.example${'/a'.repeat(count)} !`,
  'a letter in the path of an address': count => `https://a.example/${'a'.repeat(count)} !`,
}

const families: typeof fieldFamilies = {
  ...fieldFamilies,
  'a pair in the query of an address': count => `https://a.example/?${'a=a&'.repeat(count)} !`,
  'a segment of a path': count => `${'/a'.repeat(count)}\\`,
  'a letter in the segment of a path': count => `/${'a'.repeat(count)}\\`,
  'a digit': count => `${'1'.repeat(count)}!`,
  'a space': count => `${' '.repeat(count)}!`,
  'a hyphen and a letter': count => `${'a-'.repeat(count)}!`,
}

const rule: Check['rule'] = 'short-checks'
const why =
  'With each additional character, some regular expressions take twice as long. With such an expression, a value of 40 characters keeps the client busy for hours.'
const fix =
  'Do not write a regular expression in which two repetitions can match the same text, such as (a+)+ or (\\w+\\s?)+. Split lists at the separator, parse addresses with a URL parser, and limit the length before you check a value.'

const isTyped = (type: string) => ['text', 'url', 'search', 'tel', 'textarea', 'email'].includes(type)

/** Returns the names of the text fields. Ends the check if the form has none. */
function typedFieldsOf({ form }: OpenForm): string[] {
  const fields = form.controls.filter(({ type, choices, name }) => isTyped(type) && !choices && !/group/i.test(name))
  if (fields.length === 0) throw new NotApplicable('the form has no text field')
  return fields.map(({ name }) => name)
}

/** One request, or one visit of a browser. */
interface Measured {
  tookMs: number
  isAnswered: boolean
  evidence: HttpExchange | Page
}

const measuredPage = (page: Page): Measured => ({ tookMs: waitedMs(page), isAnswered: page.status > 0, evidence: page })

const measuredExchange = (exchange: HttpExchange): Measured => ({
  tookMs: exchange.durationMs,
  isAnswered: statusOf(exchange) > 0,
  evidence: exchange,
})

interface Comparison {
  /** Sends the value. */
  send: () => Promise<Measured>
  /** Sends a request that needs the usual time. */
  sendPlain: () => Promise<Measured>
  /** Names the value and its place, for example `31 times a digit in the query of /login`. */
  what: string
  /** Milliseconds. */
  most?: number
}

/** If a plain request takes longer than this fraction of the time for the value, perhaps the machine is slow. */
const plainPart = 1 / 8

/**
 * Sends the value, and fails if the client takes too long three times in a row. If a plain request also takes
 * long, the check ends as undecided. Returns how many milliseconds the last answer took.
 */
async function expectFast(
  context: CheckContext,
  { send, sendPlain, what, most = mostMs }: Comparison,
): Promise<number> {
  let measured = await send()
  // The client may have been busy with something else, such as a value of another check, so the check tries again.
  for (let tries = 0; tries < 2 && measured.tookMs > most; tries++) {
    await context.pause(2000)
    measured = await send()
  }
  const { tookMs, isAnswered, evidence } = measured
  if (tookMs <= most) return tookMs
  const seconds = `${(tookMs / 1000).toFixed(1)} seconds`
  // The client may still be busy with the value, so the check sends two plain requests. If one of them is fast, the
  // machine is not slow.
  const isPlainSlow = async () => (await sendPlain()).tookMs > tookMs * plainPart
  if (isAnswered && (await isPlainSlow()) && (await isPlainSlow()))
    throw new Undecided(`The client needed ${seconds} for ${what}, but it also answers other requests slowly.`)
  fail(`${what} kept the client busy for ${seconds}, three times in a row.`, evidence)
  return tookMs
}

/**
 * The sizes of the forms that the check tries, in bytes. Clients with the usual limit of 64 KB refuse longer forms.
 * With shorter forms, even a slow regular expression needs less time.
 */
const longForms = [60_000, 45_000]

/**
 * A correct client needs a few milliseconds for such a value. A regular expression such as /\s+$/ needs a second or
 * more, because it begins again at each space.
 */
const mostLongMs = 700

/**
 * Each function makes a value of about this length. Regular expressions that remove characters at the end of a string
 * are slow for such values.
 */
const longValues: Record<string, (length: number) => string> = {
  'spaces inside a text': length => `x${' '.repeat(length)}x`,
  'slashes inside an address': length => `https://a.example${'/'.repeat(length)}x`,
  'commas inside a text': length => `x${','.repeat(length)}x`,
}

/** Sends the form with one very long value. Returns the answer. */
async function sendLong(context: CheckContext, open: OpenForm, name: string, value: string) {
  const again = await openFormIn(context, open.browser, open.person)
  const others = new URLSearchParams(
    filledFields(again.form, { ...again.values, [name]: '' }).filter(([key]) => key !== name),
  )
  return context.request(again.form.action, {
    method: 'POST',
    headers: {
      ...ownForm(context),
      'content-type': 'application/x-www-form-urlencoded',
      cookie: cookieHeader(context, open.browser, again.form.action),
    },
    // Does not encode the characters of the value, because the form would then be too long.
    body: `${others}&${encodeURIComponent(name)}=${value.replaceAll(' ', '+')}`,
    timeoutMs: 15_000,
  })
}

export const slowValues: CheckDefinition[] = [
  {
    id: 'create-long-values',
    title: 'The client checks a field full of spaces, slashes or commas as fast as a field full of letters',
    rule,
    why: 'A regular expression such as /\\s+$/ or /\\s*,\\s*/ begins again at each space. For a field of 60 KB, this takes seconds, and other visitors wait.',
    fix: 'Refuse a value that is too long before you do anything else with it. Remove spaces with a function of your programming language, such as trim, and not with a regular expression.',
    needs: ['create', 'page'],
    longestMs: 120_000,
    async run(context) {
      const startedAt = performance.now()
      const open = await openCreateForm(context)
      const fields = typedFieldsOf(open)
      // With this fault, the API refuses all of these forms, so that none of them creates an application.
      await context.order('create-422-fields', { times: 'always' })
      let [length, status] = [0, 0]
      for (const one of longForms) {
        length = one
        status = statusOf(await sendLong(context, open, fields[0]!, 'a'.repeat(one)))
        if (status !== 0 && status !== 413) break
      }
      if (status === 0) throw new Undecided(`The client does not answer a form with ${length} letters in a field.`)
      for (const name of fields)
        for (const [what, of] of Object.entries(longValues)) {
          await expectFast(context, {
            send: async () => measuredExchange(await sendLong(context, open, name, of(length))),
            sendPlain: async () => measuredExchange(await sendLong(context, open, name, 'a'.repeat(length))),
            what: `${length.toLocaleString('en')} ${what} in the field ${name}`,
            most: mostLongMs,
          })
          if (performance.now() - startedAt > 60_000) return
        }
    },
  },
  {
    id: 'create-slow-values',
    title: 'The client checks every value in the form for a new application quickly, whatever the value is',
    rule,
    why,
    fix,
    needs: ['create', 'page'],
    longestMs: 120_000,
    async run(context) {
      const startedAt = performance.now()
      const open = await openCreateForm(context)
      const fields = typedFieldsOf(open)
      // With this fault, the API refuses all of these forms, so that none of them creates an application.
      await context.order('create-422-fields', { times: 'always' })
      const openPage = () => open.browser.visit(context.url(context.settings.create))
      let { page } = open
      const sendValues = async (values: Values): Promise<Measured> => {
        if (!findCreateForm(page)) page = await openPage()
        const form = findCreateForm(page)
        // A client that is still busy does not answer at all.
        if (!form && page.status === 0) return measuredPage(page)
        if (!form) throw new Undecided(`The page with the form is now ${describePage(page)}.`)
        page = await open.browser.submit(page, form, { ...open.values, ...values })
        return measuredPage(page)
      }
      const send = (family: string, names: string[]) =>
        repeatMore(count => {
          const values = Object.fromEntries(names.map(name => [name, families[family]!(count)]))
          const where = names.length > 1 ? 'all fields' : `the field ${names[0]}`
          return expectFast(context, {
            send: () => sendValues(values),
            sendPlain: async () => measuredPage(await openPage()),
            what: `${count} times ${family} in ${where}`,
          })
        })
      for (const family of Object.keys(families)) await send(family, fields)
      // On a slow machine, the check leaves out the remaining values, so that the run does not take minutes longer.
      const isInTime = () => performance.now() - startedAt < 20_000
      for (const family of Object.keys(fieldFamilies))
        for (const name of fields) if (isInTime()) await send(family, [name])
    },
  },
  {
    id: 'query-slow-values',
    title: 'The client checks every value in a query quickly, whatever the value is',
    rule,
    why: `${why} Anyone can send requests to the login path and the callback, without being signed in.`,
    fix,
    longestMs: 120_000,
    async run(context) {
      const { login, callback, returnTo, page } = context.settings
      // The client reads the query of a page behind the login only if the visitor is signed in.
      const browser = page ? (await context.signedIn()).browser : context.browser()
      const names: [path: string, names: string[]][] = [
        [login, [returnTo]],
        [callback, ['state', 'code', 'iss', 'error', 'error_description', 'subject', 'client_id', 'redirect_uri']],
        ...(page ? [[page, ['q', 'query', 'search', 'filter', 'page', 'sort']] as [string, string[]]] : []),
      ]
      const send = async (path: string, query: URLSearchParams) => {
        const cookie = path === page ? cookieHeader(context, browser, path) : ''
        const headers = { ...typedAddress, ...(cookie && { cookie }) }
        return measuredExchange(await context.request(withQuery(path, `${query}`), { headers, timeoutMs: 12_000 }))
      }
      const sendPlain = async () => measuredPage(await browser.visit(context.url(login), noRedirects))
      for (const [path, all] of names)
        for (const [family, of] of Object.entries(families))
          await repeatMore(count => {
            const query = new URLSearchParams(Object.fromEntries(all.map(name => [name, of(count)])))
            const what = `${count} times ${family} in the query of ${path}`
            return expectFast(context, { send: () => send(path, query), sendPlain, what })
          })
    },
  },
]
