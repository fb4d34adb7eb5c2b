// Clients whose mistakes only a real browser shows, because their pages run scripts.
import { correct } from '../behaviour.ts'
import { notInList } from '../changes.ts'
import { type Mistake, mistake } from '../mistake.ts'
import { needsScript } from '../script-client.ts'
import type { Answer, Visit } from '../visit.ts'

/** Changes the script of the client whose pages need JavaScript. */
const scriptWith = (change: (script: string) => string) => ({
  ...needsScript,
  async aroundRequest(visit: Visit, next: () => Promise<Answer>) {
    const answer = await needsScript.aroundRequest(visit, next)
    return visit.url.pathname === '/client.js' ? { ...answer, body: change(answer.body!) } : answer
  },
})

/** Adds code to the end of the script. */
const alsoDoing = (more: string) => scriptWith(script => `${script}\n;${more}`)

export const realBrowser: Mistake[] = [
  mistake('script-goes-round', ['chromium-login', 'chromium-login-lands'], {
    ...needsScript,
    // After the redirect, the browser does not send the Strict cookie, so the script begins a new login.
    afterLogin: (_visit, login) => ({ status: 302, headers: { location: login.returnTo } }),
    aroundRequest: (visit, next) =>
      visit.url.pathname === '/applications' ? next() : needsScript.aroundRequest(visit, next),
    comesFromElsewhere: () => false,
  }),
  mistake('script-stays-at-the-callback', ['chromium-code-not-in-address', 'chromium-reload-and-back'], {
    ...scriptWith(script =>
      script.replace("if (task === 'go')", "if (task === 'go' && !location.search.includes('code='))"),
    ),
  }),
  mistake('strict-cookie-and-no-second-look', 'chromium-from-another-site', {
    comesFromElsewhere: ({ headers, url }) =>
      headers['sec-fetch-site'] === 'cross-site' && url.pathname !== '/applications',
  }),
  mistake('script-keeps-the-token', 'chromium-no-tokens', {
    ...alsoDoing(
      "if (document.cookie.includes('token=')) localStorage.token = document.cookie.split('token=')[1].split(';')[0]",
    ),
    keepSession(visit, tokens) {
      visit.setCookies.push(`token=${tokens.accessToken}; Path=/; Secure; SameSite=Strict; Max-Age=60`)
      return correct.keepSession(visit, tokens)
    },
  }),
  mistake('script-calls-the-api', ['chromium-no-tokens', 'chromium-nothing-foreign'], {
    ...needsScript,
    headers: visit => ({
      ...needsScript.headers(visit),
      'content-security-policy': "default-src 'self'; connect-src *",
    }),
    keepSession(visit, tokens) {
      visit.memory.set('token', tokens.accessToken)
      return correct.keepSession(visit, tokens)
    },
    async aroundRequest(visit, next) {
      const answer = await needsScript.aroundRequest(visit, next)
      if (visit.url.pathname !== '/client.js') return answer
      const authorization = `Bearer ${visit.memory.get('token')}`
      const call = `fetch(${JSON.stringify(`${visit.settings.apiUrl}/apps/v1`)}, { headers: { authorization: ${JSON.stringify(authorization)} } }).catch(() => {})`
      return { ...answer, body: `${answer.body}\n;${call}` }
    },
  }),
  mistake('session-that-scripts-read', 'chromium-session-cookie', {
    ...needsScript,
    sessionAttributes: seconds => correct.sessionAttributes(seconds).replace('HttpOnly; ', ''),
    refreshAttributes: seconds => correct.refreshAttributes(seconds),
  }),
  mistake('script-that-fails', 'chromium-no-errors', alsoDoing('undefined.nothing()')),
  mistake(
    'script-that-sends-nothing',
    'chromium-create',
    scriptWith(script =>
      script.replace(
        'await fetch(form.action',
        "form.action.endsWith('/applications') ? new Response('<p>Saved</p>') : await fetch(form.action",
      ),
    ),
  ),
  mistake('script-that-sends-twice', 'chromium-create-once', {
    ...needsScript,
    ...notInList,
    shareCall: async (visit, name, act) => (name.startsWith('create') ? act() : correct.shareCall(visit, name, act)),
  }),
  mistake(
    'script-signs-out-alone',
    'chromium-sign-out',
    scriptWith(script =>
      script.replace(
        'const answer =',
        "if (new URL(form.action).pathname === '/logout') return location.assign('/')\n  const answer =",
      ),
    ),
  ),
  mistake(
    'script-keeps-the-list',
    'chromium-back-after-sign-out',
    scriptWith(script =>
      script
        .replace(
          'function show(html) {',
          "function show(html) {\n  if (location.pathname === '/applications') sessionStorage.list = html",
        )
        .replace(
          'if (answer.type',
          'if (!answer.ok && sessionStorage.list) show(sessionStorage.list)\n  else if (answer.type',
        ),
    ),
  ),
]
