// The pages of the small client.
import type { Answer, Visit } from './visit.ts'

export type Application = { id: string; name: string; webPageUrl: string }
export type Group = { id: string; name: string; isOwn: boolean }
/** `stored`: the values that the API has now, if they are not the values in the form. */
export type FormView = {
  token: string
  groups: Group[]
  values: URLSearchParams
  problem: string
  stored?: URLSearchParams
}

export const fields = [
  'name',
  'description',
  'webPageUrl',
  'iconUrl',
  'privacyPolicyUrl',
  'redirectUris',
  'defaultRedirectUri',
  'scopes',
  'defaultScopes',
] as const

export function page({ behaviour }: Visit, status: number, title: string, main: string): Answer {
  const name = behaviour.html(title)
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${name}</title></head><body><h1>${name}</h1>${main}</body></html>`
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body }
}

/**
 * A page with a meta refresh, so that the client's own site begins the next navigation. After a redirect, the
 * navigation would still count as begun by the portal's site. Only a page that leads on at once also has a link.
 */
export function goOn(visit: Visit, path: string, seconds = 0): Answer {
  const to = visit.behaviour.html(path)
  const answer = page(visit, 200, 'One moment', seconds === 0 ? `<a href="${to}">Continue</a>` : '')
  answer.body = answer.body!.replace('<title>', `<meta http-equiv="refresh" content="${seconds};url=${to}"><title>`)
  answer.headers!['referrer-policy'] = 'no-referrer'
  return answer
}

export const signOutForm = '<form method="post" action="/logout"><button>Sign out</button></form>'

export function listPage(visit: Visit, applications: Application[], made: string): Answer {
  const { html } = visit.behaviour
  const items = applications.map(application => `<li>${visit.behaviour.itemOf(visit, application)}</li>`)
  const news = made && `<p role="status">${html(made)}</p>`
  const links = '<a href="/applications/new">New application</a> <a href="/groups">Groups</a>'
  return page(visit, 200, 'Applications', `${news}<ul>${items.join('')}</ul>${links}${signOutForm}`)
}

/** `name` and `problem`: the name that the visitor typed, and why it was refused. */
export function groupsPage(visit: Visit, groups: Group[], token: string, name = '', problem = ''): Answer {
  const { html } = visit.behaviour
  const main = [
    problem && `<p role="alert">${html(problem)}</p>`,
    `<ul>${groups.map(visit.behaviour.groupItem).join('')}</ul>`,
    `<form method="post" action="/groups"><input type="hidden" name="form" value="${html(token)}">`,
    `<label>name <input name="name" value="${html(name)}"></label><button>Create</button></form>${signOutForm}`,
  ]
  return page(visit, problem ? 422 : 200, 'Groups', main.join(''))
}

export function formPage(visit: Visit, status: number, { token, groups, values, problem }: FormView): Answer {
  const { html } = visit.behaviour
  const chosen = values.get('groupId') ?? groups.find(({ isOwn }) => isOwn)?.id ?? ''
  const main = [
    problem && `<p role="alert">${html(problem)} <a href="/login" target="_blank">Sign in</a></p>`,
    `<form method="post" action="/applications"><input type="hidden" name="form" value="${html(token)}">`,
    visit.behaviour.groupField(visit, groups, chosen),
    ...inputsOf(visit, values),
    `<button>Create</button></form>${signOutForm}`,
  ]
  return page(visit, status, 'New application', main.join(''))
}

function inputsOf(visit: Visit, values: URLSearchParams): string[] {
  const { behaviour } = visit
  return fields.map(name => {
    const value = behaviour.keptValue(name, values.get(name) ?? '')
    return name === 'description'
      ? `<label>${name} <textarea name="${name}">${behaviour.html(value)}</textarea></label>`
      : `<label>${name} <input name="${name}" value="${behaviour.attribute(visit, value)}"></label>`
  })
}

/** The page of one application, with the form for a new secret. */
export function applicationPage(visit: Visit, id: string, name: string, token: string): Answer {
  const there = `/applications/${encodeURIComponent(id)}`
  const main = [
    '<a href="/applications">All applications</a>',
    `<a href="${there}/edit">Edit</a> <a href="${there}/remove">Remove</a>`,
    actionForm(visit, `${there}/secret`, token, 'New client secret'),
    signOutForm,
  ]
  return page(visit, 200, name, main.join(''))
}

export function removePage(visit: Visit, id: string, token: string): Answer {
  const form = actionForm(visit, `/applications/${encodeURIComponent(id)}/remove`, token, 'Remove')
  return page(visit, 200, 'Remove this application?', form + signOutForm)
}

function actionForm({ behaviour }: Visit, action: string, token: string, button: string): string {
  const hidden = `<input type="hidden" name="form" value="${behaviour.html(token)}">`
  return `<form method="post" action="${action}">${hidden}<button>${button}</button></form>`
}

export function editPage(visit: Visit, status: number, id: string, view: FormView): Answer {
  const { token, values, problem, stored } = view
  const { html } = visit.behaviour
  const main = [
    problem && `<p role="alert">${html(problem)}</p>`,
    stored ? storedValues(visit, values, stored) : '',
    `<form method="post" action="/applications/${encodeURIComponent(id)}/edit">`,
    `<input type="hidden" name="form" value="${html(token)}">`,
    ...inputsOf(visit, values),
    `<button>Save</button></form>${signOutForm}`,
  ]
  return page(visit, status, 'Edit the application', main.join(''))
}

/** Lists the fields whose stored value is not the typed value. */
function storedValues({ behaviour }: Visit, typed: URLSearchParams, stored: URLSearchParams): string {
  const differing = [...stored].filter(([name, value]) => value !== typed.get(name))
  return `<ul>${differing.map(([name, value]) => `<li>${name} is now: ${behaviour.html(value)}</li>`).join('')}</ul>`
}
