// The small client with pages that need JavaScript: the way to the portal, the way on from the callback, the list, the
// form and signing out are each the work of a script. Right in every point that the suite judges in Chromium.
import { page } from './pages.ts'
import { type Parts, right } from './parts.ts'
import type { Answer, Visit } from './visit.ts'

const scriptPath = '/client.js'
/** A request that the script makes, and no navigation. */
const byScript = 'x-by-script'

/** What each page does, by the task that its `data-task` names. */
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

/** A page that a script goes on with. */
function taskPage(visit: Visit, task: 'go' | 'load', to = ''): Answer {
  const answer = page(
    visit,
    200,
    'One moment',
    `<noscript>Please allow JavaScript.</noscript><script src="${scriptPath}"></script>`,
  )
  const data = `data-task="${task}" data-to="${visit.parts.html(to)}"`
  return {
    ...answer,
    // The way on from the callback must not tell its address.
    headers: { ...answer.headers, 'referrer-policy': 'no-referrer' },
    body: answer.body!.replace('<html lang="en">', `<html lang="en" ${data}>`),
  }
}

type Task = 'start' | 'callback' | 'pages'

/** The parts of a client that leaves these tasks to its script, and does the others as the small client does. */
export function leaveToScript(...tasks: Task[]) {
  return {
    headers: visit => ({
      ...right.headers(visit),
      'content-security-policy': `${right.headers(visit)['content-security-policy']}; script-src 'self'; connect-src 'self'`,
    }),
    arrive: (visit, login) =>
      tasks.includes('callback') ? taskPage(visit, 'go', login.returnTo) : right.arrive(visit, login),
    async around(visit, next) {
      const { pathname } = visit.url
      if (pathname === scriptPath)
        return { status: 200, headers: { 'content-type': 'text/javascript; charset=utf-8' }, body: script }
      const isPage = visit.method === 'GET' && pathname.startsWith('/applications')
      if (tasks.includes('pages') && isPage && !visit.headers[byScript]) return taskPage(visit, 'load')
      const answer = await next()
      const isStart = tasks.includes('start') && pathname === '/login' && answer.status === 302
      return isStart ? taskPage(visit, 'go', answer.headers!.location) : answer
    },
  } satisfies Partial<Parts>
}

export const needsScript = leaveToScript('start', 'callback', 'pages')
