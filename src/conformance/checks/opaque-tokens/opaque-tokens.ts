// Access tokens that are not JWTs: a client must send them to the API unchanged, and must not need their content.
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

/** Signs in a visitor whose access token has the format of this fault. */
async function signInWith(context: CheckContext, fault: string) {
  const { browser, callback } = await beginLogin(context)
  await context.order(fault)
  const page = await followCallback(context, browser, callback)
  if (!(await context.codeExchanges()).some(({ fault }) => fault))
    throw new Undecided('The portal did not use the ordered token in its answer.')
  return { browser, page }
}

export const opaqueTokens: CheckDefinition[] = forms.flatMap(([id, what, fault]): CheckDefinition[] => [
  {
    id: `opaque-token-${id}`,
    title: `A login works with an access token that is ${what}`,
    rule: 'token-is-opaque',
    why: 'The portal and the API define the format of tokens, and may change it without telling clients.',
    fix: 'Send the token unchanged. If you read the id of the visitor from the token, continue without the id when the token does not contain it.',
    needs: ['page'],
    async run(context) {
      const { browser, page } = await signInWith(context, fault)
      expectServed(page, `The callback ends with ${describePage(page)}.`)
      const visit = await visitPage(context, browser)
      const isCalled = visit.steps.some(({ kind, response }) => kind === 'api' && response.status < 400)
      if (!isCalled) await context.signedIn()
      expect(
        isCalled,
        `After the login the page is answered with ${describePage(visit.page)}.`,
        page,
        visit.page,
        ...visit.steps,
      )
    },
  },
  {
    id: `opaque-token-${id}-no-crash`,
    title: `With an access token that is ${what}, neither the callback nor the next page fails with status 500`,
    rule: 'UP-06',
    why: 'A client that needs another kind of token must say so on a page. Status 500 means an unexpected error.',
    fix: 'Catch the failure when you read the token. Then continue without its content, or refuse the login with a page.',
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
    title: `With an access token that is ${what} an application can be created`,
    rule: 'token-is-opaque',
    why: 'Clients often bind forms to the id of the visitor, but a token that is not a JWT does not contain it.',
    fix: 'If a token contains no id, bind forms to the session, or to a random id made at the login.',
    needs: ['page', 'create'],
    async run(context) {
      const { browser } = await signInWith(context, fault)
      const person = await context.person()
      const open = await openFormIn(context, browser, person)
      const page = await browser.submit(open.page, open.form, open.values)
      if ((await created(context, person)).length === 1) return
      await context.signedIn()
      expect(false, `Nothing was created; the form was answered with ${describePage(page)}.`, page)
    },
  },
])
