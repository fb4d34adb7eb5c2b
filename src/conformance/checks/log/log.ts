// Checks what the client prints. The output must contain neither secrets nor personal data.
import type { LabStep } from '../../../sandbox/lab/record/recorded.ts'
import type { Browser } from '../../browser/browser.ts'
import { type CheckDefinition, NotApplicable, passNotApplicable, Undecided } from '../../check.ts'
import { type CheckContext, readStart } from '../../context.ts'
import { expect, setCookiesOf } from '../../findings.ts'
import { withQuery } from '../../steps/addresses.ts'
import { filledFields, openEditForm, openWithApplication, ownForm, sendForm } from '../../steps/application-pages.ts'
import { credentialsOf, makeApplication } from '../../steps/applications.ts'
import { beginLogin, cookieHeader, followCallback, noNavigations, typedAddress } from '../../steps/callback.ts'
import {
  created,
  noCreation,
  type OpenForm,
  openCreateForm,
  submitCreate,
  textFieldsOf,
} from '../../steps/create-form.ts'
import { findCancelUrl } from '../../steps/declined-login.ts'
import { sessionIdsIn } from '../../steps/leaks.ts'
import { visitUnder } from '../../steps/list-page.ts'
import { renewUnder } from '../../steps/renewals.ts'
import { noRevocation, untilRevoked } from '../../steps/revocations.ts'
import { routeIn, signedInIfPossible } from '../../steps/sessions.ts'
import { decodeSafely, readSetCookie } from '../../steps/set-cookies.ts'
import { signOut } from '../../steps/sign-out.ts'
import { arrivedOutput, expectOutputSince, expectUnprinted } from '../../steps/unprinted.ts'
import { fieldsOf, tokensIssuedIn } from '../../tokens.ts'
import { failedLogins } from './failed-logins.ts'

const needs = ['process' as const]
const secretsWhy =
  'Many people can read a log, and logs are kept for a long time. None of these people may learn the code.'
const fixLog = 'Log the path without its query. From headers and bodies, log only the fields in a fixed list.'

/** The tokens that the portal has issued in this check. */
function tokensIn(context: CheckContext): string[] {
  return context.arrived().flatMap(tokensIssuedIn)
}

/**
 * Ways in which an API call with a valid token can fail. Each entry has the end of the fault's name, and words for the
 * title.
 */
const apiRefusals = [
  ['401', 'status 401'],
  ['403', 'status 403'],
  ['500', 'status 500'],
  ['reset', 'connection reset'],
  ['html', 'HTML instead of JSON'],
] as const

/** Faults of the exchange: the token response contains tokens, but the client must refuse it. */
const refusedTokens: [fault: string, options: Record<string, unknown>][] = [
  ['state-other', {}],
  ['state-missing', {}],
  ['token-type-mac', {}],
  ['expires-in-words', {}],
  ['tokens-with-status', { status: 400 }],
]

const jsonType = 'application/json; charset=utf-8'
/** The shortest text for which the suite searches the output. */
const unreadableText = 'Unreadable471947'
/**
 * Follow the text in an answer that is not valid JSON. Some parsers quote the place of the mistake, and others quote
 * everything after the last value that they could read.
 */
const unreadableEnds = ['', '"', '" x}', '"}}]} x']

async function signIn(context: CheckContext): Promise<{ browser: Browser; callback: URL; cookies: string[] }> {
  const browser = context.browser()
  const start = await context.startLogin(browser)
  const callback = await context.authorize(start)
  const page = await browser.goOn(start.page, callback.href)
  await context.platform.settle()
  const lines = [...start.page.trail, ...page.trail].flatMap(setCookiesOf)
  const values = lines.map(line => readSetCookie(line).value)
  // Ignores cookies whose value is also in an address, for example a cookie that contains the plain state. If the log
  // contains such a value, it may come from the address and not from the cookie.
  const inAddresses = new Set([start.url, callback].flatMap(({ searchParams }) => [...searchParams.values()]))
  const isOnlyCookie = (value: string) => !inAddresses.has(value) && !inAddresses.has(decodeSafely(value))
  return { browser, callback, cookies: values.filter(isOnlyCookie) }
}

export const log: CheckDefinition[] = [
  {
    id: 'log-code',
    title: 'The client does not print the code of a login',
    rule: 'LG-01',
    why: secretsWhy,
    fix: fixLog,
    needs,
    async run(context) {
      const { callback } = await signIn(context)
      await expectUnprinted(context, 'the code', [callback.searchParams.get('code') ?? undefined])
    },
  },
  {
    id: 'log-state',
    title: 'The client does not print the state of a login',
    rule: 'LG-01',
    why: 'The state protects a login against forged callbacks, and a log is often copied to other systems.',
    fix: fixLog,
    needs,
    async run(context) {
      const { callback } = await signIn(context)
      await expectUnprinted(context, 'the state', [callback.searchParams.get('state') ?? undefined])
    },
  },
  {
    id: 'log-client-secret',
    title: 'The client prints its secret neither when it starts nor during a login',
    rule: 'SE-04',
    why: 'Only the server may know the client secret, but a log is often copied to other systems.',
    fix: 'Give the secret a type that prints itself as "[redacted]". Never log all settings or a whole request.',
    needs,
    async run(context) {
      await signIn(context)
      await expectUnprinted(context, 'the client secret', [context.platform.clientSecret.reveal()])
    },
  },
  {
    id: 'log-tokens',
    title: 'The client does not print the access token or the refresh token',
    rule: 'bearer-not-leaked',
    why: 'Anyone who has a bearer token can act as the visitor.',
    fix: 'Do not log token responses or the Authorization header of calls.',
    needs,
    async run(context) {
      const { browser } = await signIn(context)
      if (context.settings.page) await context.isSignedIn(browser)
      await expectUnprinted(context, 'a token', tokensIn(context))
    },
  },
  {
    id: 'log-cookies',
    title: 'The client does not print the cookies of a session',
    rule: 'LG-06',
    why: 'Anyone who reads a session cookie in a log can use the session.',
    fix: 'Leave Cookie, Set-Cookie and the id of the session out of the log.',
    needs,
    async run(context) {
      const { browser, callback, cookies } = await signIn(context)
      if (context.settings.page) await context.isSignedIn(browser)
      await expectUnprinted(context, 'a cookie', cookies)
      // A client may print the id of a session without the route or the signature that the cookie also contains.
      const { cookies: others } = await signIn(context)
      const ids = cookies.flatMap(value => {
        const route = others.map(other => routeIn(value, other)).find(text => text !== '')
        const withoutRoute = route === undefined ? [] : [value.slice(0, -route.length)]
        return [...withoutRoute, ...sessionIdsIn(value).filter(id => !callback.href.includes(id))]
      })
      await expectUnprinted(context, 'the id of a session', ids)
    },
  },
  {
    id: 'log-refused-callback',
    title: 'The client does not print the code of a refused callback',
    rule: 'LG-01',
    why: 'The code of a refused callback may be a valid code of another login. Many servers log the requests that they refuse.',
    fix: 'Log only the path of refused requests, without the query. Do the same for requests to unknown paths.',
    needs,
    async run(context) {
      const [code, other] = ['refused-code-4f8a1c7e2b', 'misled-code-9d3b5a7c1e']
      await context.request(`${context.settings.callback}?code=${code}&state=somebody-elses-state`)
      await context.request(`${context.settings.callback}/nowhere?code=${other}`)
      await context.request('/nowhere/at/all?access_token=misled-token-77aa55cc33')
      await expectUnprinted(context, 'a code', [code, other, 'misled-token-77aa55cc33'])
      // In some clients, separate code refuses the following requests and prints the whole address.
      const refused = `${context.settings.callback}?code=unusual-code-5c2b8e1f7a&state=somebody-elses-state`
      for (const method of ['HEAD', 'POST', 'PUT', 'OPTIONS'])
        await context.request(refused, { method, headers: { 'content-length': '0' } })
      for (const headers of Object.values(noNavigations)) await context.request(refused, { headers })
      await expectUnprinted(context, 'a code', ['unusual-code-5c2b8e1f7a'])
    },
  },
  {
    id: 'log-referer',
    title: 'When a visitor leaves the page at the callback, the client prints neither the code nor the state',
    rule: 'LG-01',
    why: 'The next request contains the address of the callback in its Referer header, and many access logs print this header. The code of a failed login may still be valid.',
    fix: 'Send Referrer-Policy: no-referrer with every answer from the callback path, including after a failed login. Or do not log the Referer header: avoid log formats such as “combined”, which contain this header.',
    needs,
    async run(context) {
      for (const change of ['', 'state', 'client_id']) {
        const { browser, callback } = await beginLogin(context)
        const sent = new URL(callback)
        if (change) sent.searchParams.set(change, 'of-another-login-4713')
        const page = await followCallback(context, browser, sent, context.beforePortal)
        const values = ['code', 'state'].map(name => sent.searchParams.get(name) ?? '')
        const [already, before] = [await arrivedOutput(context), values.filter(value => value.length >= 16)]
        const next = await browser.newTab().visit(context.url('/'), { from: page, ...context.beforePortal })
        const referer = next.trail[0]?.request.headers.referer ?? ''
        const unprinted = before.filter(value => referer.includes(value) && !already.includes(value))
        await expectUnprinted(context, 'the Referer header, with the code or the state of a callback', unprinted)
      }
    },
  },
  {
    id: 'log-failed-exchange',
    title: 'When the portal refuses the exchange, the client does not print the code, the verifier or the secret',
    rule: 'LG-02',
    why: 'The address of the callback contains the code. An error of an HTTP library can contain the whole exchange, and a logger prints everything that an error contains.',
    fix: "If an error occurs, log only its code and status. Do not log the query of the browser's request or the exchange that failed. If the check `log-client-secret` also fails, fix that failure first.",
    needs,
    async run(context) {
      const browser = context.browser()
      const start = await context.startLogin(browser)
      const callback = await context.authorize(start)
      // Adds a character to the code. The portal does not know the longer code, and refuses the exchange.
      const code = `${callback.searchParams.get('code')}x`
      callback.searchParams.set('code', code)
      await browser.goOn(start.page, callback.href)
      await context.platform.settle()
      const verifiers = context.arrived('exchange').map(step => String(fieldsOf(step).code_verifier))
      await expectUnprinted(context, 'the code', [code])
      await expectUnprinted(context, 'the code_verifier', verifiers)
      await expectUnprinted(context, 'the client secret', [context.platform.clientSecret.reveal()])
    },
  },
  {
    id: 'log-refused-tokens',
    title: 'When the client refuses a token response, the client does not print the tokens',
    rule: 'LG-02',
    why: 'The tokens of a refused response are valid. Anyone who reads them in the log can act as the visitor.',
    fix: 'Log only the name of the wrong field, never the response itself.',
    needs,
    async run(context) {
      for (const [fault, options] of refusedTokens) {
        const browser = context.browser()
        const start = await context.startLogin(browser)
        const callback = await context.authorize(start)
        await context.order(`exchange-${fault}`, { options })
        await browser.goOn(start.page, callback.href)
        await context.platform.settle()
      }
      const tokens = tokensIn(context)
      if (tokens.length < refusedTokens.length)
        throw new Undecided('The client made no exchange for some of the callbacks.')
      await expectUnprinted(context, 'a token', tokens)
    },
  },
  {
    id: 'log-unreadable-tokens',
    title: 'If the token response is not valid JSON, the client does not print its content',
    rule: 'LG-02',
    why: 'The tokens in such a response can be valid. The messages of many JSON parsers quote the text that they cannot read.',
    fix: 'Log only that the response was not valid JSON. Do not log the message of the parser.',
    needs,
    async run(context) {
      for (const end of unreadableEnds) {
        const browser = context.browser()
        const start = await context.startLogin(browser)
        const callback = await context.authorize(start)
        const body = `{"token_type":"bearer","access_token":"${unreadableText}${end}`
        await context.order('exchange-answer', { options: { status: 200, type: jsonType, body } })
        await browser.goOn(start.page, callback.href)
        await context.platform.settle()
        if (context.timesMet('exchange-answer') === 0)
          throw new Undecided('The client made no exchange for the callback.')
        await context.dropFaults()
      }
      await expectUnprinted(context, 'a part of the token response', [unreadableText])
    },
  },
  {
    id: 'log-unreadable-list',
    title: "If the API's answer is not valid JSON, the client does not print its content",
    rule: 'LG-02',
    why: 'The answers of the API contain personal data. The messages of many JSON parsers quote the text that they cannot read.',
    fix: 'Log only that the answer was not valid JSON. Do not log the message of the parser.',
    needs: ['process', 'page'],
    async run(context) {
      const { browser } = await signIn(context)
      for (const end of unreadableEnds) {
        const body = `{"ItemList":[{"data":{"name":"${unreadableText}${end}`
        await visitUnder(context, 'list-answer', { status: 200, type: jsonType, body }, 1, browser)
      }
      await expectUnprinted(context, "a part of the API's answer", [unreadableText])
    },
  },
  {
    id: 'log-refused-renewal',
    title: 'When the client refuses the token response of a renewal, the client does not print the tokens',
    rule: 'LG-02',
    why: 'The tokens of a refused response are valid. Anyone who reads them in the log can act as the visitor.',
    fix: 'Log only the name of the wrong field, never the response itself.',
    needs: ['process', 'page'],
    longestMs: 90_000,
    async run(context) {
      const { renewal } = await renewUnder(context, 'refresh-token-type-mac')
      if (!renewal.fault)
        throw new Undecided('The portal answered the renewal without the fault that this check had ordered.')
      await expectUnprinted(context, 'a token', tokensIn(context))
    },
  },
  ...apiRefusals.map(
    ([fault, what]): CheckDefinition => ({
      id: `log-api-${fault}`,
      title: `When an API call fails (${what}), the client does not print a token or a cookie`,
      rule: 'bearer-not-leaked',
      why: 'Errors of HTTP libraries contain the whole call with its Authorization header. Anyone who has a bearer token can act as the visitor.',
      fix: 'Log only the path and the status of a failed call.',
      needs: ['process', 'page'],
      async run(context) {
        const { browser, cookies } = await signIn(context)
        // Many clients send a GET request once more after a reset, so more than one connection must break.
        await visitUnder(context, `list-${fault}`, {}, fault === 'reset' ? 5 : 1, browser)
        await expectUnprinted(context, 'a token', tokensIn(context))
        await expectUnprinted(context, 'a cookie', cookies)
      },
    }),
  ),
  {
    id: 'log-api-form-refused',
    title: 'When the API refuses to create an application, the client does not print a token',
    rule: 'bearer-not-leaked',
    why: 'Errors of HTTP libraries contain the whole call with its Authorization header. Anyone who has a bearer token can act as the visitor.',
    fix: 'Log only the path and the status of a failed call.',
    needs: ['process', 'page', 'create'],
    async run(context) {
      for (const fault of ['create-401', 'create-403', 'create-500']) {
        const open = await openCreateForm(context)
        await context.order(fault, { times: 1 })
        await open.browser.submit(open.page, open.form, open.values)
        await context.platform.settle()
        if (!context.arrived('api').some(step => step.fault?.name === fault)) throw noCreation()
        await context.dropFaults()
      }
      await expectUnprinted(context, 'a token', tokensIn(context))
    },
  },
  {
    id: 'log-failed-revocation',
    title: 'When the portal refuses to revoke a token, the client does not print a token',
    rule: 'bearer-not-leaked',
    why: 'If the revocation fails, the tokens stay valid, and anyone who reads them in the log can act as the visitor.',
    fix: 'Log only the path and the status of a failed call.',
    needs: ['process', 'page', 'logout'],
    async run(context) {
      for (const fault of ['revoke-503', 'revoke-reset']) {
        const { browser, page } = await context.signedIn()
        await context.order(fault, { times: 1 })
        await signOut(context, browser, page)
        const isMet = () => context.arrived('revoke').some(step => step.fault?.name === fault)
        if (!(await untilRevoked(context, isMet))) throw new NotApplicable(noRevocation)
      }
      await expectUnprinted(context, 'a token', tokensIn(context))
    },
  },
  {
    id: 'log-created-secret',
    title: 'The client does not print the secret of a new application',
    rule: 'SE-04',
    why: 'Only the person who created the application may see the secret, and only once.',
    fix: 'Log the status of an API answer, but no part of its body.',
    needs: ['process', 'create'],
    async run(context) {
      const { creation } = await create(context)
      const { clientSecrets, tokens } = credentialsOf(creation)
      await expectUnprinted(context, 'the new client secret', clientSecrets)
      await expectUnprinted(context, 'an app access token', tokens)
    },
  },
  {
    id: 'log-forms',
    title: 'The client does not print the text that a visitor types into a form',
    rule: 'LG-06',
    why: 'Forms contain personal data. Many people can read a log, and logs are kept for a long time.',
    fix: 'Log only the path and the status of a request that sends a form, never its body.',
    needs: ['process', 'create'],
    async run(context) {
      const typed = 'What tomorrow will be like, said in a few words.'
      await create(context, typed)
      const asForm = `${new URLSearchParams({ '': typed })}`.slice(1)
      await expectUnprinted(context, 'the text of a form', [typed, typed.replaceAll(' ', '+'), asForm])
    },
  },
  {
    id: 'log-refused-form',
    title: 'The client does not print the text of a form, even if the client or the API refuses the form',
    rule: 'LG-06',
    why: 'Forms contain personal data, and many programs print a form when they refuse it.',
    fix: 'Log the name of the wrong field, and not its value.',
    needs: ['process', 'page', 'create'],
    async run(context) {
      const typed = 'What-yesterday-was-like-in-a-few-words'
      for (const fault of [undefined, 'create-422', 'create-500']) {
        const open = await openCreateForm(context)
        const texts = textFieldsOf(open.form)
        const filled = Object.fromEntries(texts.map(({ name }) => [name, typed]))
        if (fault) await context.order(fault, { times: 1 })
        // Without a fault, the check also types this text as the redirect URI. The text is not a valid URI, so the
        // client or the API refuses the form anyway.
        const values = fault ? { ...filled, ...open.values } : filled
        await open.browser.submit(open.page, open.form, values)
        await context.dropFaults()
      }
      await context.platform.settle()
      await expectUnprinted(context, 'the text of a form', [typed])
    },
  },
  {
    id: 'log-texts-of-the-api',
    title:
      'When the API sends an application, the client does not print the name or the description of the application',
    rule: 'LG-06',
    why: 'Other people typed this text. A log is copied to other systems and kept for a long time.',
    fix: 'Log the status of an API answer, but no part of its body.',
    needs: ['process', 'page'],
    async run(context) {
      const name = 'Application-with-a-name-that-somebody-typed'
      const description = 'Description-that-somebody-typed-4711'
      await makeApplication(context, await context.person(), { name, description })
      const { browser } = await context.signedIn()
      await browser.visit(context.url(context.settings.page))
      await expectUnprinted(context, 'the text of an application', [name, description])
    },
  },
  {
    id: 'log-form-tokens',
    title: 'The client does not print the hidden tokens of a form',
    rule: 'log-masked',
    why: "With the token of a form, an attacker who reads the log can send a form on the visitor's behalf.",
    fix: 'Log only the path and the status of a request that sends a form, never its body.',
    needs: ['process', 'create'],
    async run(context) {
      const { open } = await create(context)
      // Ignores the values of hidden form fields if they are ids or paths. Addresses also contain ids and paths, and
      // the client may log the path of an address.
      const isOfThisForm = (text: string) =>
        !/^(\/|https?:)/.test(text) && ![open.person.id, open.person.groupId].includes(text)
      const hidden = open.form.controls.filter(({ type }) => type === 'hidden').flatMap(({ values }) => values)
      await expectUnprinted(context, 'a token of a form', hidden.filter(isOfThisForm))
    },
  },
  {
    id: 'log-one-line',
    title: 'A line break in an address does not add a line to the log',
    rule: 'LG-03',
    why: 'A line break begins a new line of the log. Anyone who can write a line break into the log can invent lines, for example about another visitor.',
    fix: 'Log as JSON, or escape control characters. Log the path without decoding it.',
    needs,
    async run(context) {
      const mark = 'level=error-forged-by-a-visitor'
      const { login, callback, page, create, returnTo, logout } = context.settings
      const pages = [page, create].filter(path => path !== '')
      for (const lineBreak of ['%0d%0a', '%0a', '%0d', '%250d%250a'])
        for (const path of [
          `/nowhere${lineBreak}${mark}`,
          ...pages.flatMap(path => [`${path}/${lineBreak}${mark}`, withQuery(path, `x=${lineBreak}${mark}`)]),
          `/?x=${lineBreak}${mark}`,
          withQuery(login, `x=${lineBreak}${mark}`),
          withQuery(login, `${returnTo || 'returnTo'}=/${lineBreak}${mark}`),
          withQuery(callback, `state=${lineBreak}${mark}`),
          withQuery(callback, `error=x&error_description=${lineBreak}${mark}`),
          withQuery(callback, `${lineBreak}${mark}=x`),
        ])
          await context.request(path, {
            headers: {
              ...typedAddress,
              cookie: `x=${lineBreak}${mark}`,
              referer: `${context.url('/')}?${lineBreak}${mark}`,
            },
          })
      // Most clients read an id in an address only if the visitor is signed in.
      const browser = await signedInIfPossible(context)
      for (const path of pages)
        for (const lineBreak of ['%0d%0a', '%0a'])
          for (const rest of [`/x${lineBreak}${mark}`, `/x${lineBreak}${mark}/edit`, `?x=${lineBreak}${mark}`])
            await context.request(path + rest, {
              headers: { ...typedAddress, cookie: cookieHeader(context, browser, path) },
            })
      // A client may log the return address to which it sends the visitor after the login.
      for (const lineBreak of returnTo ? ['%0d%0a', '%0a'] : []) {
        const browser = context.browser()
        const begun = await context.visitUntilPortal(
          browser,
          withQuery(login, `${returnTo}=/nowhere${lineBreak}${mark}`),
        )
        if (begun.stoppedAt === undefined) continue
        await followCallback(context, browser, await context.authorize(readStart(begun)))
      }
      if (logout)
        await context.request(`${logout.path}?x=%0a${mark}`, {
          method: logout.method,
          headers: { ...typedAddress, origin: context.settings.client },
        })
      await expectNoLine(context, mark)
    },
  },
  {
    id: 'log-one-line-form',
    title: 'A line break in a field of a form does not add a line to the log',
    rule: 'LG-03',
    why: 'A line break begins a new line of the log. A visitor who can write a line break into the log can invent lines, for example about another visitor.',
    fix: 'Log as JSON, or escape control characters. Do not log bodies.',
    needs: ['process', 'page', 'create'],
    async run(context) {
      const mark = 'level=error-forged-by-a-form'
      const open = await openCreateForm(context)
      for (const control of textFieldsOf(open.form)) {
        const fields = new URLSearchParams(open.form.fields)
        for (const [name, value] of Object.entries({ ...open.values, [control.name]: `a\r\n${mark}` }))
          fields.set(name, `${value}`)
        await sendForm(context, open.browser, { action: open.form.action, fields: [...fields] }, ownForm(context))
      }
      const application = await openWithApplication(context)
      const edit = await openEditForm(context, application).catch(passNotApplicable)
      for (const { name } of edit ? textFieldsOf(edit.form) : []) {
        const fields = filledFields(edit!.form, { [name]: `a\r\n${mark}` })
        await sendForm(context, application.browser, { action: edit!.form.action, fields }, ownForm(context))
      }
      await context.platform.settle()
      await expectNoLine(context, mark)
    },
  },
  {
    id: 'log-one-line-callback',
    title: 'A line break in the callback of an unfinished login does not add a line to the log',
    rule: 'LG-03',
    why: 'A line break begins a new line of the log. A visitor who changes the callback of their own login can then write false lines into the log.',
    fix: 'Log as JSON, or escape control characters. Log the error code of a callback only if this code is in a fixed list.',
    needs,
    async run(context) {
      const mark = 'level=error-forged-by-a-callback'
      const forged = `a\r\n${mark}`
      const queries: Record<string, string>[] = [
        { error: 'server_error', error_description: forged },
        { error: 'server_error', error_uri: forged },
        { error: forged },
        { subject: forged },
        { client_id: forged },
        { iss: forged },
        { code: forged },
      ]
      for (const query of queries) {
        const { browser, callback } = await beginLogin(context)
        for (const [name, value] of Object.entries(query)) callback.searchParams.set(name, value)
        if ('error' in query) callback.searchParams.delete('code')
        await followCallback(context, browser, callback)
        if (!('error_description' in query)) continue
        const other = await beginLogin(context)
        const cancelled = findCancelUrl(context, other.start) ?? callback
        for (const [name, value] of Object.entries(query)) cancelled.searchParams.set(name, value)
        cancelled.searchParams.set('state', other.start.state ?? '')
        await followCallback(context, other.browser, cancelled)
      }
      await expectNoLine(context, mark)
    },
  },
  ...failedLogins,
]

/** Fails if a log line begins with the text `mark`. */
async function expectNoLine(context: CheckContext, mark: string): Promise<void> {
  const lines = (await arrivedOutput(context)).split(/\r\n|[\r\n]/)
  const line = lines.find(one => one.startsWith(mark))
  expect(line === undefined, 'The log contains a line that a visitor invented.', `${line}`)
  expectOutputSince(context, context.outputStart)
}

/**
 * Creates an application whose name is the text `description`. If the form has a description field, the field gets the
 * same text.
 */
async function create(context: CheckContext, description = ''): Promise<{ open: OpenForm; creation: LabStep }> {
  const open = await openCreateForm(context, description || undefined)
  if (open.form.fields.some(([name]) => name === 'description')) open.values.description = description
  await submitCreate(context, open)
  const [creation] = await created(context, open.person)
  return { open, creation: creation! }
}
