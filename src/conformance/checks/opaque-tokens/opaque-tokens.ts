// Checks with access tokens that are not JWTs. A client must send these tokens to the API unchanged, and must not need
// their content.
import { type CheckDefinition, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, expectServed } from '../../findings.ts'
import { beginLogin, followCallback } from '../../steps/callback.ts'
import { created, openFormIn } from '../../steps/create-form.ts'
import { visitPage } from '../../steps/sessions.ts'

const forms: [id: string, what: string, fault: string][] = [
  ['plain', 'a random text', 'exchange-opaque-access-token'],
  ['dotted', 'three random texts with dots between them', 'exchange-dotted-access-token'],
]

/** Signs a visitor in. With the fault, the portal issues an access token that is not a JWT. */
async function signInWith(context: CheckContext, fault: string) {
  const { browser, callback } = await beginLogin(context)
  await context.order(fault)
  const page = await followCallback(context, browser, callback)
  if (!(await context.codeExchanges()).some(({ fault }) => fault))
    throw new Undecided('The portal answered the exchange without the fault that this check had ordered.')
  return { browser, page }
}

export const opaqueTokens: CheckDefinition[] = forms.flatMap(([id, what, fault]): CheckDefinition[] => [
  {
    id: `opaque-token-${id}`,
    title: `If the access token is ${what}, visitors can sign in`,
    rule: 'token-is-opaque',
    why: 'The portal and the API decide on the format of tokens, and may change the format without telling clients.',
    fix: 'Send the token unchanged. If you read the id of the visitor from the token, and the token contains no id, continue without the id.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await signInWith(context, fault)
      expectServed(page, `The login ended with ${describePage(page)}.`)
      const visit = await visitPage(context, browser)
      const isCalled = visit.steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
      if (!isCalled) await context.signedIn()
      expect(
        isCalled,
        `After the login, the client made no API call for the page behind the login. The visit ended with ${describePage(visit.page)}.`,
        page,
        visit.page,
        ...visit.steps,
      )
    },
  },
  {
    id: `opaque-token-${id}-no-crash`,
    title: `If the access token is ${what}, the client does not answer the callback or the next page with status 500`,
    rule: 'UP-06',
    why: 'If a client cannot use such a token, it must say so on a page. Status 500 means an unexpected error.',
    fix: 'Catch the error when you read the token. Then continue without the content of the token, or refuse the login with a page.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await signInWith(context, fault)
      const visit = await visitPage(context, browser)
      for (const one of [page, visit.page])
        expect(one.status !== 500 && one.status !== 0, `The answer is ${describePage(one)}.`, one)
    },
  },
  {
    id: `opaque-token-${id}-create`,
    title: `If the access token is ${what}, visitors can create applications`,
    rule: 'token-is-opaque',
    why: 'Clients often bind forms to the id of the visitor, but a token that is not a JWT does not contain this id.',
    fix: 'If a token contains no id, bind forms to the session, or to a random id made at the login.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser } = await signInWith(context, fault)
      const person = await context.person()
      const open = await openFormIn(context, browser, person)
      const page = await browser.submit(open.page, open.form, open.values)
      if ((await created(context, person)).length === 1) return
      await context.signedIn()
      expect(false, `The API created nothing, and the client answered the form with ${describePage(page)}.`, page)
    },
  },
])
