// Checks what the client prints when a login fails, and when a visitor changes an application.
import { type CheckDefinition, NotApplicable } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { isWrite, openEditForm, openWithApplication } from '../../steps/application-pages.ts'
import { credentialsOf } from '../../steps/applications.ts'
import { beginLogin, cookieHeader, followCallback } from '../../steps/callback.ts'
import { textFieldsOf } from '../../steps/create-form.ts'
import { declinedCallback } from '../../steps/declined-login.ts'
import { openForms, sendAgain } from '../../steps/every-form.ts'
import { requestText } from '../../steps/raw.ts'
import { expectUnprinted } from '../../steps/unprinted.ts'

/** Longer than most servers allow for all headers of a request. */
const longHeader = 'x'.repeat(200_000)

const wrongState = 'Wrong-state-of-conformance-4719'

/**
 * Each function makes a login fail after the visitor has come back from the portal. It returns the states that the
 * client must not print.
 */
const failures: ((context: CheckContext) => Promise<string[]>)[] = [
  async context => {
    const { browser, start, callback } = await beginLogin(context)
    callback.searchParams.set('state', wrongState)
    await followCallback(context, browser, callback)
    return [start.state ?? '', wrongState]
  },
  async context => {
    const { start, callback } = await beginLogin(context)
    await followCallback(context, context.browser(), callback)
    return [start.state ?? '']
  },
  async context => {
    const { browser, start, callback } = await beginLogin(context)
    callback.searchParams.delete('code')
    callback.searchParams.set('error', 'server_error')
    await followCallback(context, browser, callback)
    return [start.state ?? '']
  },
  async context => {
    const { browser, start, callback } = await beginLogin(context)
    callback.searchParams.delete('code')
    await followCallback(context, browser, callback)
    return [start.state ?? '']
  },
  async context => {
    const { browser, start, callback } = await beginLogin(context)
    await context.order('exchange-state-other')
    await followCallback(context, browser, callback)
    return [start.state ?? '']
  },
  async context => {
    const { browser, start, callback } = await beginLogin(context)
    await followCallback(context, browser, callback)
    await followCallback(context, browser, callback)
    callback.searchParams.set('code', 'another-code-4719')
    await followCallback(context, browser, callback)
    return [start.state ?? '']
  },
  async context => {
    const { browser, start } = await beginLogin(context)
    await followCallback(context, browser, declinedCallback(context, start))
    return [start.state ?? '']
  },
]

export const failedLogins: CheckDefinition[] = [
  {
    id: 'log-state-of-failed-login',
    title: 'When a login fails, the client prints neither the state of the callback nor the state of the login',
    rule: 'LG-01',
    why: 'When the state of a callback differs from the state of the login, many programs print both states. The state of an unfinished login is still valid, and logs are often copied to other systems.',
    fix: 'Print only that the states differ, or that the login failed. Do not print either state.',
    needs: ['process'],
    async run(context) {
      for (const fail of failures) {
        const states = await fail(context)
        await context.dropFaults()
        await expectUnprinted(context, 'the state', states)
      }
    },
  },
  {
    id: 'log-unreadable-callback',
    title: 'If the headers of a callback are too long or malformed, the client prints neither its code nor its state',
    rule: 'LG-01',
    why: 'With many cookies, the headers of a callback can be longer than a server allows. Some servers then print the first line of the request, with a code and a state that are still valid.',
    fix: 'Change the error log of the server, so that it does not contain the first line of a request that the server cannot read.',
    needs: ['process'],
    async run(context) {
      const headers: Record<string, string>[] = [
        { 'x-long': longHeader },
        { 'content-length': 'not-a-number' },
        { 'not a header': 'x' },
      ]
      for (const header of headers) {
        const { browser, start, callback } = await beginLogin(context)
        const path = callback.pathname + callback.search
        const cookie = cookieHeader(context, browser, path)
        const head = requestText(context, 'GET', path, { headers: { cookie, ...header } })
        await context.sendBytes({ head })
        await expectUnprinted(context, 'the code', [callback.searchParams.get('code') ?? ''])
        await expectUnprinted(context, 'the state', [start.state])
      }
    },
  },
  {
    id: 'log-changed-application',
    title:
      'When a visitor changes or removes an application, the client prints neither the typed text nor the name of the application',
    rule: 'LG-06',
    why: 'Forms contain personal data. Many people can read a log, and logs are kept for a long time.',
    fix: 'Log the path and the status of a request that sends a form. Name an application only by its id.',
    needs: ['process', 'page'],
    async run(context) {
      const name = 'Name-that-somebody-typed-before-a-change'
      const typed = 'Text-that-somebody-typed-into-a-change'
      for (const fault of ['', 'update-422-fields', 'update-403', 'update-500']) {
        const application = await openWithApplication(context, { name })
        const { page, form } = await openEditForm(context, application)
        const fields = textFieldsOf(form).filter(
          field => field.values.includes(name) || /name|description/i.test(field.name),
        )
        const values = fields.map(field => [field.name, typed])
        if (fault) await context.order(fault, { times: 5 })
        await application.browser.submit(page, form, Object.fromEntries(values))
        await context.platform.settle()
        await context.dropFaults()
      }
      const open = await openForms(context)
      for (const found of open.forms) await sendAgain(context, open.browser, found)
      await expectUnprinted(context, 'the text of a form', [typed])
      await expectUnprinted(context, 'the name of an application', [name])
    },
  },
  {
    id: 'log-new-secret',
    title: 'The client does not print a new secret of an application',
    rule: 'SE-04',
    why: 'Only the person who created the secret may see it, and only once.',
    fix: 'Log the status of an API answer, but no part of its body.',
    needs: ['process', 'page'],
    async run(context) {
      const open = await openForms(context)
      const secrets: string[] = []
      for (const found of open.forms) {
        const sent = await sendAgain(context, open.browser, found)
        for (const step of sent?.calls.filter(isWrite) ?? []) {
          if (!step.request.url.endsWith('/refreshSecret') || step.response.status !== 201) continue
          secrets.push(...credentialsOf(step).clientSecrets)
        }
      }
      if (secrets.length === 0) throw new NotApplicable('no form creates a new secret')
      await expectUnprinted(context, 'the new client secret', secrets)
    },
  },
]
