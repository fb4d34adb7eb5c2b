// Checks that restart the client, with the same settings or with different settings.
import { randomUUID } from 'node:crypto'
import { type CheckDefinition, NotApplicable, ReportedElsewhere, Undecided } from '../../check.ts'
import type { CheckContext } from '../../context.ts'
import { describePage, expect, fail, failWithFix } from '../../findings.ts'
import { otherLoopback } from '../../other-site.ts'
import { isAcceptedCall } from '../../platform-calls.ts'
import { beginLogin, followCallback, requireExchange } from '../../steps/callback.ts'
import { created, openCreateForm, openFormIn, submitCreate } from '../../steps/create-form.ts'
import { withOtherSettings } from '../../steps/restarts.ts'
import { visitPage } from '../../steps/sessions.ts'
import { fieldsOf } from '../../tokens.ts'

/** Ends the check if a restart with the same settings loses the logins that began before it. */
async function requireLoginAfterRestart(context: CheckContext): Promise<void> {
  const { browser, callback } = await beginLogin(context)
  await context.restartClient()
  const known = (await context.codeExchanges()).length
  await followCallback(context, browser, callback)
  if ((await context.codeExchanges()).length === known)
    throw new NotApplicable('an unfinished login does not survive a restart')
}

/** Begins a login in a new browser. Returns the address outside the client to which the client redirects. */
async function addressOfStart(context: CheckContext): Promise<URL | null> {
  const { stoppedAt } = await context.browser().visit(context.url(context.settings.login), context.beforeLeaving)
  return URL.parse(stoppedAt ?? '')
}

export const restarts: CheckDefinition[] = [
  {
    id: 'restart-session',
    title: 'After a restart of the client, visitors are still signed in',
    rule: 'survives-restart',
    why: 'Every update restarts the client. If sessions are only in memory, every restart ends all sessions.',
    fix: 'Keep the session in a sealed cookie with a key from the settings, or in a separate store.',
    needs: ['process', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const { browser } = await context.signedIn()
      const person = await context.person()
      await context.restartClient()
      expect(await context.isSignedIn(browser), 'After the restart, the visitor is not signed in.')
      // The client may keep the refresh token separately.
      await context.platform.endAccessTokens(person)
      const { page, steps } = await visitPage(context, browser)
      if (steps.some(isAcceptedCall)) return
      const plain = await context.signedIn()
      await context.platform.endAccessTokens(person)
      if (!(await visitPage(context, plain.browser)).steps.some(isAcceptedCall)) return
      failWithFix(
        'Keep the refresh token in a sealed cookie with a key from the settings, or in a separate store.',
        `After a restart, the client does not renew a session from before the restart, and answers with ${page.stoppedAt ? 'a redirect to the portal' : describePage(page)}. It renews a session from after the restart.`,
        page,
      )
    },
  },
  {
    id: 'restart-form',
    title: 'If a visitor opened a form before a restart of the client, the form still creates the application',
    rule: 'survives-restart',
    why: 'A visitor may need minutes to fill in the form, and every update restarts the client. If the client refused the form after a restart, the visitor would lose the typed text.',
    fix: 'Seal the id of the form with a key from the settings, or keep the id in a separate store.',
    needs: ['process', 'page', 'create'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const open = await openCreateForm(context)
      await context.restartClient()
      if (!(await context.isSignedIn(open.browser.copy())))
        throw new ReportedElsewhere('the session does not survive the restart')
      const page = await open.browser.submit(open.page, open.form, open.values)
      if ((await created(context, open.person)).length === 1) return
      await submitCreate(context, await openFormIn(context, open.browser, open.person))
      fail(
        `After the restart, the client answered the form with ${describePage(page)}, and created nothing.`,
        ...page.trail.slice(-2),
      )
    },
  },
  {
    id: 'restart-login',
    title: 'If the client restarts during a login, the visitor can still finish the login',
    rule: 'survives-restart',
    why: 'A visitor can spend minutes at the portal, and the client can restart during this time.',
    fix: 'Keep the login in a sealed cookie with a key from the settings, or in a separate store.',
    needs: ['process', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      const { browser, callback } = await beginLogin(context)
      await context.restartClient()
      const page = await followCallback(context, browser, callback)
      expect(await context.isSignedIn(browser), `The login ended with ${describePage(page)}.`, page)
    },
  },
  {
    id: 'restart-other-settings',
    title:
      'If the client id or the portal has changed in the settings, the client refuses the callback of an earlier login',
    rule: 'CL-24',
    why: 'After such a change, an earlier login belongs to another client or another portal. If the client accepted the callback of this login, an attacker who controls one of two portals could finish a login of the other portal.',
    fix: 'Keep the address of the portal, the client id and the redirect URI with the state of the login, and compare these values at the callback.',
    needs: ['process', 'page'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      await requireExchange(context)
      await requireLoginAfterRestart(context)
      const { portalUrl } = context.platform
      const { hostname } = new URL(portalUrl)
      const otherPortal = portalUrl.replace(hostname, otherLoopback(hostname))
      const begun = [
        {
          ...(await beginLogin(context)),
          setting: 'CLIENT_ID',
          value: randomUUID(),
          parameter: 'client_id',
          read: (start: URL) => start.searchParams.get('client_id'),
        },
        {
          ...(await beginLogin(context)),
          setting: 'LOGIN_URL',
          value: otherPortal,
          parameter: 'iss',
          read: (start: URL) => start.origin,
        },
      ]
      await withOtherSettings(context, async () => {
        for (const { browser, callback, setting, value, parameter, read } of begun) {
          await context.restartClient({ [setting]: value }).catch(error => {
            if (error instanceof Undecided) throw error
            throw new NotApplicable(`the client does not start with another ${setting}`)
          })
          const address = await addressOfStart(context)
          if (!address || read(address) !== value)
            throw new NotApplicable(`the client does not begin logins with another ${setting}`)
          // Adapts the callback to the new settings. The client can then notice only from its own data that the login
          // belongs to other settings.
          if (callback.searchParams.has(parameter)) callback.searchParams.set(parameter, value)
          const known = context.arrived('exchange').length
          const page = await followCallback(context, browser, callback)
          expect(
            (await context.codeExchanges()).length === known,
            `After the client was started with another ${setting}, it exchanged the code of a login that had begun before.`,
            page,
          )
        }
      })
    },
  },
  {
    id: 'restart-other-redirect-uri',
    title:
      'If the redirect URI has changed in the settings, the client does not finish an earlier login with the new redirect URI',
    rule: 'CL-24',
    why: 'The exchange must contain the redirect URI with which the login began. If the client sends another redirect URI, the login is not bound to the address at which it began, and the portal refuses the exchange.',
    fix: 'Keep the redirect URI with the state of the login. At the callback, compare it with the settings, and refuse the callback if the two values differ.',
    needs: ['process'],
    isAlone: true,
    longestMs: 120_000,
    async run(context) {
      await requireExchange(context)
      await requireLoginAfterRestart(context)
      const { settings, platform } = context
      const { hostname } = new URL(settings.client)
      // A client can read its redirect URI from a setting, or compute it from its own address in the settings.
      const begun = [
        { ...(await beginLogin(context)), changed: { REDIRECT_URI: `${platform.redirectUri}?other=1` } },
        {
          ...(await beginLogin(context)),
          changed: { CLIENT_URL: settings.client.replace(hostname, otherLoopback(hostname)) },
        },
      ]
      let hasChanged = false
      await withOtherSettings(context, async () => {
        for (const { browser, callback, changed } of begun) {
          const hasStarted = await context.restartClient(changed).then(
            () => true,
            () => false,
          )
          if (!hasStarted) continue
          const address = await addressOfStart(context)
          const other = address?.searchParams.get('redirect_uri') ?? platform.redirectUri
          if (other === platform.redirectUri) continue
          hasChanged = true
          // Adapts the callback to the new settings. The client can then notice only from its own data that the login
          // belongs to other settings.
          callback.searchParams.set('redirect_uri', other)
          const known = context.arrived('exchange').length
          const page = await followCallback(context, browser, callback)
          for (const step of (await context.codeExchanges()).slice(known))
            expect(
              fieldsOf(step).redirect_uri === platform.redirectUri,
              `After the client was started with another redirect URI, its exchange for an earlier login contained the redirect_uri ${fieldsOf(step).redirect_uri}.`,
              page,
              step,
            )
        }
      })
      if (!hasChanged)
        throw new NotApplicable('the client does not begin logins with another REDIRECT_URI or CLIENT_URL')
    },
  },
]
