// The small client with pages that need JavaScript: scripts open the portal, leave the callback, load the list, send
// the form and sign out. In a browser that runs scripts, this client is correct.

import { type Behaviour, correct } from './behaviour.ts'
import { page } from './pages.ts'
import type { Answer, Visit } from './visit.ts'

const scriptPath = '/client.js'
/** The script sets this header in its requests. A navigation does not have the header. */
const byScript = 'x-by-script'

/** The script of all pages. The attribute `data-task` of the page selects what the script does. */
const script = `
const { task, to } = document.documentElement.dataset
const headers = { '${byScript}': '1' }

function show(html) {
  const parsed = new DOMParser().parseFromString(html, 'text/html')
  document.title = parsed.title
  document.body.replaceChildren(...parsed.body.childNodes)
  for (const form of document.forms) form.addEventListener('submit', send)
}

async function send(event) {
  event.preventDefault()
  const form = event.target
  const body = new URLSearchParams(new FormData(form))
  const answer = await fetch(form.action, { method: 'POST', body, headers })
  if (new URL(form.action).pathname === '/logout') location.assign('/')
  else show(await answer.text())
}

async function load() {
  const answer = await fetch(location.href, { headers, redirect: 'manual' })
  if (answer.type === 'opaqueredirect') location.replace('/login?returnTo=' + encodeURIComponent(location.pathname))
  else show(await answer.text())
}

if (task === 'go') location.replace(to)
if (task === 'load') load()
`

/** Returns a page on which the script does the task. */
function taskPage(visit: Visit, task: 'go' | 'load', to = ''): Answer {
  const answer = page(
    visit,
    200,
    'One moment',
    `<noscript>Please allow JavaScript.</noscript><script src="${scriptPath}"></script>`,
  )
  const data = `data-task="${task}" data-to="${visit.behaviour.html(to)}"`
  return {
    ...answer,
    // Without this header, the next request would contain the address of the callback in its Referer.
    headers: { ...answer.headers, 'referrer-policy': 'no-referrer' },
    body: answer.body!.replace('<html lang="en">', `<html lang="en" ${data}>`),
  }
}

type Task = 'start' | 'callback' | 'pages'

/**
 * Returns the behaviour of a client that leaves these tasks to a script, and does all other tasks like the small
 * client.
 */
export function leaveToScript(...tasks: Task[]) {
  return {
    headers: visit => ({
      ...correct.headers(visit),
      'content-security-policy': `${correct.headers(visit)['content-security-policy']}; script-src 'self'; connect-src 'self'`,
    }),
    afterLogin: (visit, login) =>
      tasks.includes('callback') ? taskPage(visit, 'go', login.returnTo) : correct.afterLogin(visit, login),
    async aroundRequest(visit, next) {
      const { pathname } = visit.url
      if (pathname === scriptPath)
        return { status: 200, headers: { 'content-type': 'text/javascript; charset=utf-8' }, body: script }
      const isPage = visit.method === 'GET' && pathname.startsWith('/applications')
      if (tasks.includes('pages') && isPage && !visit.headers[byScript]) return taskPage(visit, 'load')
      const answer = await next()
      const isStart = tasks.includes('start') && pathname === '/login' && answer.status === 302
      return isStart ? taskPage(visit, 'go', answer.headers!.location) : answer
    },
  } satisfies Partial<Behaviour>
}

export const needsScript = leaveToScript('start', 'callback', 'pages')
