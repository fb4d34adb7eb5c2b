// Checks on logins, forms and cookies in a real Chromium, which runs the scripts of the client. The checks run only
// with --browser.
import type { Locator } from 'playwright-core'
import { type CheckDefinition, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { expect, expectWithFix, fail } from '../../findings.ts'
import { isAtOrigin } from '../../steps/addresses.ts'
import { applicationName, makeApplication } from '../../steps/applications.ts'
import { created } from '../../steps/create-form.ts'
import {
  callbacksIn,
  fillCreateForm,
  isServed,
  isSignedIn,
  issuedTokens,
  placeOf,
  readableByScripts,
  signedInWithChromium,
  signInWithChromium,
  signOutWithChromium,
} from '../../steps/real-browser.ts'

const strictCookie =
  'Answer the callback with status 200 and a page with a meta refresh. Browsers do not send SameSite=Strict cookies after redirects that began on another site. If the callback answers with a redirect, the next page has no session.'

/**
 * Fills in the form for a new application, and sends it with its button. Returns how many applications the API created.
 */
async function createBy(context: CheckContext, press: (button: Locator) => Promise<void>): Promise<number> {
  const visitor = await signedInWithChromium(context)
  const button = await fillCreateForm(context, visitor, 'Created in Chromium')
  await visitor.window.act(() => press(button))
  return (await created(context, visitor.person)).length
}

const definitions: CheckDefinition[] = [
  {
    id: 'chromium-login',
    title: 'In Chromium, a visitor who signs in once at the portal is signed in at the client',
    rule: 'login-works',
    why: 'Only a real browser shows whether the pages, scripts and cookies of the client work together.',
    fix: "Sign in yourself with the browser's developer tools open, and look at the requests after the callback.",
    needs: ['page', 'browser'],
    async run(context) {
      const visitor = await signInWithChromium(context)
      const { window, isAtRest } = visitor
      const { length: callbacks } = callbacksIn(context, window)
      expectWithFix(
        strictCookie,
        callbacks < 2,
        `The browser was sent to the portal and back ${callbacks} times, and ended at ${placeOf(window)}.`,
      )
      expect(isAtRest, `After the login, the page at ${placeOf(window)} does not stop loading.`)
      expect(
        placeOf(window).startsWith(`${context.settings.client}/`),
        `The login ended at ${placeOf(window)}, which is not a page of the client.`,
      )
      expect(
        await isSignedIn(context, visitor),
        `After the login, a visit to ${context.settings.page} made no successful API call.`,
      )
    },
  },
  {
    id: 'chromium-login-lands',
    title: 'In Chromium, the first page after the login shows the visitor as signed in',
    rule: 'CL-26',
    why: 'If the first page asks visitors to sign in, they believe that their login failed.',
    fix: strictCookie,
    needs: ['page', 'browser'],
    async run(context) {
      const before = context.platform.steps.length
      const visitor = await signInWithChromium(context)
      const { window, person } = visitor
      await context.platform.settle()
      const isCalled = context.platform.steps
        .slice(before)
        .some(step => step.listener === 'api' && step.about.userId === person.id && step.response.status < 400)
      // The first page may be a welcome page without API calls. In this case, the check opens the page behind the
      // login, as a link would.
      const script = `location.assign(${JSON.stringify(context.url(context.settings.page))})`
      const follow = () => window.act(() => window.page.evaluate(script))
      const { length: callbacks } = callbacksIn(context, window)
      expect(
        callbacks < 2 && (isCalled || (await isServed(context, visitor, follow))),
        `On the page after the login, ${placeOf(window)}, the visitor is not signed in.`,
      )
    },
  },
  {
    id: 'chromium-code-not-in-address',
    title: 'In Chromium, the address bar shows neither the code nor the state after the login',
    rule: 'CL-28',
    why: 'People copy and share the address in the address bar, and the browser history keeps this address.',
    fix: 'Answer the callback with a redirect, or with a page that calls location.replace or has a meta refresh. Each of these replaces the callback in the browser history.',
    needs: ['page', 'browser'],
    async run(context) {
      const { window } = await signInWithChromium(context)
      const { searchParams, pathname } = new URL(window.page.url())
      const left = ['code', 'state'].filter(name => searchParams.has(name))
      expect(left.length === 0, `After the login, the address is ${pathname} with ${left.join(' and ')}.`)
    },
  },
  {
    id: 'chromium-reload-and-back',
    title:
      'In Chromium, if the visitor presses Reload or Back after the login, the session continues and the callback is not opened again',
    rule: 'CL-28',
    why: 'A code is valid only once. If the browser opens the callback again, the visitor sees an error.',
    fix: 'Answer the callback with a redirect, or with a page that calls location.replace or has a meta refresh. The address of the callback then does not stay in the browser history.',
    needs: ['page', 'browser'],
    async run(context) {
      const visitor = await signInWithChromium(context)
      const { window } = visitor
      const isKept = await isServed(context, visitor, () =>
        window.act(() => window.page.reload({ waitUntil: 'commit' })),
      )
      const landed = placeOf(window)
      await window.act(() => window.page.goBack({ waitUntil: 'commit' }).catch(() => undefined))
      // The Back button may open the portal. If the visitor is signed in at the portal, the portal redirects to the
      // callback with a new code.
      const opened = callbacksIn(context, window)
      expect(new Set(opened).size === opened.length, 'Reload or Back opened the same callback again.')
      if (isKept) return
      expect(await isSignedIn(context, visitor), `After Reload, the visitor is no longer signed in at ${landed}.`)
    },
  },
  {
    id: 'chromium-from-another-site',
    title: 'In Chromium, if a signed-in visitor follows a link from another site, the client shows the page',
    rule: 'PG-12',
    why: 'Browsers do not send Strict cookies with the first request from another site, so the visitor would have to sign in again.',
    fix: 'If a navigation comes from another site and has no session, answer it once with a meta refresh to the same path.',
    needs: ['page', 'browser'],
    async run(context) {
      const visitor = await signedInWithChromium(context)
      const { window } = visitor
      const { otherSite } = context.platform
      await window.goTo(otherSite.url(otherSite.page(`<a href="${context.url(context.settings.page)}">Go</a>`)))
      const isKnown = await isServed(context, visitor, () => window.act(() => window.page.locator('a').click()))
      expect(isKnown, `The link led to ${placeOf(window)}, where the visitor is not signed in.`)
    },
  },
  {
    id: 'chromium-no-tokens',
    title: 'In Chromium, no script can read a token, and no page sends a token',
    rule: 'CK-08',
    why: 'Every script on the page, for example from a hijacked package, can read such a token and act as the visitor.',
    fix: 'Keep tokens in HttpOnly cookies or on the server, and call the API from the server.',
    needs: ['page', 'browser'],
    async run(context) {
      const visitor = await signInWithChromium(context)
      const { window } = visitor
      const places = [await readableByScripts(window)]
      if (!(await isSignedIn(context, visitor)))
        throw new Undecided('In Chromium, nobody is signed in after a login. The check `chromium-login` reports this.')
      places.push(await readableByScripts(window))
      const tokens = await issuedTokens(context)
      for (const place of places)
        for (const [where, text] of Object.entries(place))
          expect(!tokens.some(token => text.includes(token)), `A token is in ${where}.`)
      const sent = window.asked.find(({ headers, url }) => {
        const texts = [url, ...Object.entries(headers).flatMap(([name, value]) => (name === 'cookie' ? [] : [value]))]
        return tokens.some(token => texts.some(text => text.includes(token)))
      })
      expect(!sent, `A page sent a token in a request to ${sent?.url.replace(/\?.*$/s, '')}.`)
    },
  },
  {
    id: 'chromium-session-cookie',
    title: 'In Chromium, the session cookies are HttpOnly, Secure and SameSite',
    rule: 'CK-01',
    why: 'HttpOnly protects the session from scripts, Secure from eavesdroppers, and SameSite from other sites.',
    fix: 'Set the session cookie with HttpOnly, Secure and SameSite=Strict or SameSite=Lax.',
    needs: ['page', 'browser'],
    async run(context) {
      const visitor = await signedInWithChromium(context)
      const { window } = visitor
      const cookies = await window.cookies(context.settings.client)
      for (const cookie of cookies) {
        const { name, httpOnly, secure, sameSite } = cookie
        const missing = [!httpOnly && 'HttpOnly', !secure && 'Secure', sameSite === 'None' && 'SameSite'].filter(
          Boolean,
        )
        if (missing.length === 0) continue
        // A cookie belongs to the session if this cookie alone keeps the visitor signed in, or if the visitor is signed
        // out without it. A language cookie, for example, does not belong to the session.
        await window.keepCookies([cookie])
        const isEnough = await isSignedIn(context, visitor)
        await window.keepCookies(cookies.filter(other => other !== cookie))
        const isOfSession = isEnough || !(await isSignedIn(context, visitor))
        expect(!isOfSession, `The session cookie ${name} lacks ${missing.join(', ')}.`)
      }
    },
  },
  {
    id: 'chromium-no-errors',
    title: 'In Chromium, the pages cause no script errors and no violations of their Content-Security-Policy',
    rule: 'scripts-without-errors',
    why: 'If a script fails, or the policy blocks a script, something on the page does not work for the visitor.',
    fix: 'Open the page with the browser console, and fix the errors that the console lists.',
    needs: ['page', 'browser'],
    async run(context) {
      const { window } = await signedInWithChromium(context)
      if (context.settings.create) await window.goTo(context.url(context.settings.create))
      expect(window.errors.length === 0, `The console says: ${window.errors[0]}`)
    },
  },
  {
    id: 'chromium-nothing-foreign',
    title: 'In Chromium, the pages request nothing from other sites',
    rule: 'PG-22',
    why: 'If a page loads a script or style from another site, that site can see and do everything that the visitor can.',
    fix: 'Serve scripts, styles and images from the client itself, and call the API from the server.',
    needs: ['page', 'browser'],
    async run(context) {
      const { window } = await signedInWithChromium(context)
      if (context.settings.create) await window.goTo(context.url(context.settings.create))
      const own = [context.settings.client, context.platform.portalUrl]
      const foreign = window.asked.find(({ url }) => /^https?:/.test(url) && !own.includes(new URL(url).origin))
      expect(!foreign, `A page asked for ${foreign?.url.replace(/\?.*$/s, '')}.`)
    },
  },
  {
    id: 'chromium-create',
    title: 'In Chromium, the form creates an application',
    rule: 'create-application',
    why: 'If a script sends the form, only a real browser shows whether the form works.',
    fix: "Fill in the form yourself with the browser's developer tools open, and follow its request to the API.",
    needs: ['page', 'create', 'browser'],
    async run(context) {
      const count = await createBy(context, button => button.click())
      expect(count > 0, 'The API created no application.')
    },
  },
  {
    id: 'chromium-create-once',
    title: 'In Chromium, a double click creates only one application',
    rule: 'PG-15',
    why: 'Many people click twice. Without protection, each click creates an application.',
    fix: 'Give each form a one-time id, and create one application for each id. It is not enough to disable the button.',
    needs: ['page', 'create', 'browser'],
    async run(context) {
      const count = await createBy(context, button => button.dblclick())
      if (count === 0) throw new Undecided('The API created no application. The check `chromium-create` reports this.')
      expect(count === 1, `A double click created ${count} applications.`)
    },
  },
  {
    id: 'chromium-sign-out',
    title: 'In Chromium, the session ends when the visitor signs out',
    rule: 'CK-13',
    why: 'If a script only shows another page and does not end the session, the next person at the browser still has the session.',
    fix: 'Send a request that ends the session on the server and deletes the session cookies. Only then say that the visitor is signed out.',
    needs: ['page', 'logout', 'browser'],
    async run(context) {
      const visitor = await signedInWithChromium(context)
      await signOutWithChromium(context, visitor)
      expect(
        !(await isSignedIn(context, visitor)),
        `After signing out, ${context.settings.page} still calls the API on the visitor's behalf.`,
      )
    },
  },
  {
    id: 'chromium-back-after-sign-out',
    title: "In Chromium, after the visitor has signed out, the Back button does not show the visitor's data",
    rule: 'CK-13',
    why: 'The next person at the browser can press the Back button.',
    fix: 'Send Cache-Control: no-store with every page behind the login, and with every answer from which a script takes data for a page.',
    needs: ['page', 'logout', 'browser'],
    async run(context) {
      const visitor = await signedInWithChromium(context)
      const { window, person } = visitor
      await makeApplication(context, person)
      const shows = async () => (await window.page.content()).includes(applicationName)
      await window.goTo(context.url(context.settings.page))
      if (!(await shows()))
        throw new Undecided(`${context.settings.page} does not show the application of its visitor.`)
      await signOutWithChromium(context, visitor)
      if (await shows()) fail(`After signing out, ${placeOf(window)} still shows the visitor's data.`)
      const isAtPortal = () => window.asked.some(({ url }) => isAtOrigin(url, context.platform.portalUrl))
      window.asked.length = 0
      // The loop ends if Back opens the portal, because the portal then begins a new login. The check
      // `logout-not-silent` judges this.
      for (let back = 0; back < 3 && !isAtPortal(); back++) {
        await window.act(() => window.page.goBack({ waitUntil: 'commit' }).catch(() => undefined))
        expect(
          isAtPortal() || !(await shows()),
          `After signing out, Back shows ${placeOf(window)} with the visitor's data.`,
        )
      }
    },
  },
]

/** The time limit is long, because a new browser is slow on a busy machine. */
export const realBrowser: CheckDefinition[] = definitions.map(definition => ({ ...definition, longestMs: 120_000 }))
