// Situations that show which cookies, Sec-Fetch-* headers and Origin browsers send, depending on how a navigation
// begins and on its redirects.

import type { Situation, Step } from '../situation.ts'
import type { Answer } from '../start-sites.ts'

const link = (to: string, more = ''): Answer => ({ body: `<!doctype html><a href="${to}" ${more}>Go</a>` })
const form = (to: string, method = 'post', more = ''): Answer => ({
  body: `<!doctype html><form method="${method}" action="${to}" ${more}><input name="a" value="1"><button>Go</button></form>`,
})
const sentOn = (status: number, to: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { location: to, ...headers },
})
const refreshing = (to: string): Answer => ({
  body: `<!doctype html><meta http-equiv="refresh" content="0;url=${to}">`,
})

const situations: Record<string, { answers: Record<string, Answer>; steps: Step[] }> = {
  typed: { answers: {}, steps: [{ visit: '{client}/' }] },
  'a typed address, a redirect to another site, and a redirect back': {
    answers: { 'client/login': sentOn(302, '{other}/portal'), 'other/portal': sentOn(302, '{client}/back') },
    steps: [{ visit: '{client}/login' }],
  },
  'a link to the same origin': {
    answers: { 'client/page': link('/next') },
    steps: [{ visit: '{client}/page' }, { press: 'Go' }],
  },
  'a link from another port': {
    answers: { 'sibling/page': link('{client}/next') },
    steps: [{ visit: '{sibling}/page' }, { press: 'Go' }],
  },
  'a link from another site': {
    answers: { 'other/page': link('{client}/next') },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }],
  },
  'a link from another site, and then a link on the opened page': {
    answers: { 'other/page': link('{client}/next'), 'client/next': link('/after') },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }, { press: 'Go' }],
  },
  'a link to the same site, a redirect to another site, and a redirect back': {
    answers: {
      'client/page': link('/login'),
      'client/login': sentOn(302, '{other}/portal'),
      'other/portal': sentOn(302, '{client}/back'),
    },
    steps: [{ visit: '{client}/page' }, { press: 'Go' }, 'reload'],
  },
  'a link to the same site, a redirect to another port, and a redirect back': {
    answers: {
      'client/page': link('/login'),
      'client/login': sentOn(302, '{sibling}/portal'),
      'sibling/portal': sentOn(302, '{client}/back'),
    },
    steps: [{ visit: '{client}/page' }, { press: 'Go' }, 'reload'],
  },
  'a link on another site to a page that redirects to the client': {
    answers: { 'other/page': link('/out'), 'other/out': sentOn(302, '{client}/back') },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }],
  },
  'a form on the same origin': {
    answers: { 'client/page': form('/next') },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a form from another port': {
    answers: { 'sibling/page': form('{client}/next') },
    steps: [{ visit: '{sibling}/page' }, { send: 'Go' }],
  },
  'a form from another site': {
    answers: { 'other/page': form('{client}/next') },
    steps: [{ visit: '{other}/page' }, { send: 'Go' }],
  },
  'a form from another site with the method GET': {
    answers: { 'other/page': form('{client}/next', 'get') },
    steps: [{ visit: '{other}/page' }, { send: 'Go' }],
  },
  'a form from another site with the type text/plain': {
    answers: { 'other/page': form('{client}/next', 'post', 'enctype="text/plain"') },
    steps: [{ visit: '{other}/page' }, { send: 'Go' }],
  },
  'a form sent with the Enter key': {
    answers: { 'client/page': form('/next') },
    steps: [{ visit: '{client}/page' }, { send: undefined }],
  },
  'a form on the portal that is answered with 307': {
    answers: { 'other/page': form('/take'), 'other/take': sentOn(307, '{client}/back') },
    steps: [{ visit: '{other}/page' }, { send: 'Go' }],
  },
  'a form on the client that a 307 redirects to another site and back': {
    answers: {
      'client/page': form('/take'),
      'client/take': sentOn(307, '{other}/take'),
      'other/take': sentOn(307, '{client}/back'),
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a form on the client that a 308 redirects to another port': {
    answers: { 'client/page': form('/take'), 'client/take': sentOn(308, '{sibling}/take') },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a form on the client that a 307 redirects within the client': {
    answers: { 'client/page': form('/take'), 'client/take': sentOn(307, '/again') },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a form that is answered with 200, and a reload of the answer': {
    answers: { 'client/page': form('/take') },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }, 'reload'],
  },
  'a form on the portal whose answer has a meta refresh to the client': {
    answers: { 'other/page': form('/take'), 'other/take': refreshing('{client}/back'), 'client/back': link('/after') },
    steps: [{ visit: '{other}/page' }, { send: 'Go' }, { press: 'Go' }],
  },
  'a link from another site to a page that redirects: the next page counts as opened by the other site, even after a reload':
    {
      answers: { 'other/page': link('{client}/exchangeToken'), 'client/exchangeToken': sentOn(302, '/applications') },
      steps: [{ visit: '{other}/page' }, { press: 'Go' }, 'reload'],
    },
  'a link from another site to a page with a meta refresh: the next page counts as opened by the same site': {
    answers: {
      'other/page': link('{client}/exchangeToken?code=1'),
      'client/exchangeToken': {
        ...refreshing('/applications'),
        headers: { 'set-cookie': 'new=1; Path=/; SameSite=Strict' },
      },
    },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }, 'reload', 'back'],
  },
  'a link from another site to a page with a meta refresh and no-referrer': {
    answers: {
      'other/page': link('{client}/exchangeToken?code=1'),
      'client/exchangeToken': { ...refreshing('/applications'), headers: { 'referrer-policy': 'no-referrer' } },
      'client/applications': form('/sign-out'),
    },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }, { send: 'Go' }],
  },
  'the Refresh header': {
    answers: {
      'other/page': link('{client}/exchangeToken'),
      'client/exchangeToken': { headers: { refresh: '0; url=/applications' } },
    },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }],
  },
  'a meta refresh to another site, and a redirect back': {
    answers: { 'client/start': refreshing('{other}/portal'), 'other/portal': sentOn(302, '{client}/back') },
    steps: [{ visit: '{client}/start' }],
  },
  'two typed addresses, then back and reload': {
    answers: {},
    steps: [{ visit: '{client}/one' }, { visit: '{client}/two' }, 'back', 'reload'],
  },
  'back to the page that a link on another site opened': {
    answers: { 'other/page': link('{client}/next'), 'client/next': link('/after') },
    steps: [{ visit: '{other}/page' }, { press: 'Go' }, { press: 'Go' }, 'back', 'back'],
  },
  'a typed address, reloaded twice': { answers: {}, steps: [{ visit: '{client}/one' }, 'reload', 'reload'] },
  'back to a page that a redirect opened': {
    answers: { 'client/page': link('/moved'), 'client/moved': sentOn(302, '/there'), 'client/there': link('/last') },
    steps: [{ visit: '{client}/page' }, { press: 'Go' }, { press: 'Go' }, 'back', 'back'],
  },
  'a sandboxed page has no origin': {
    answers: { 'client/page': { ...form('/next'), headers: { 'content-security-policy': 'sandbox allow-forms' } } },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a sandboxed page that keeps its origin': {
    answers: {
      'client/page': {
        ...form('/next'),
        headers: { 'content-security-policy': 'sandbox allow-forms allow-same-origin' },
      },
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a sandboxed page that is not allowed to send a form': {
    answers: {
      'client/page': { ...form('/next'), headers: { 'content-security-policy': 'sandbox allow-same-origin' } },
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  'a sandboxed page refreshes if scripts are allowed': {
    answers: {
      'client/page': {
        ...refreshing('/next'),
        headers: { 'content-security-policy': 'sandbox allow-same-origin allow-scripts' },
      },
    },
    steps: [{ visit: '{client}/page' }],
  },
  'a sandboxed page does not refresh': {
    answers: {
      'client/page': { ...refreshing('/next'), headers: { 'content-security-policy': 'sandbox allow-same-origin' } },
    },
    steps: [{ visit: '{client}/page' }],
  },
}

/** A form on the client's page is sent to another site, which answers with a redirect. */
const answered = [302, 303, 307].map(status => ({
  name: `navigations: a form to another site that redirects back with status ${status}`,
  answers: { 'client/page': form('{other}/take'), 'other/take': sentOn(status, '{client}/back') },
  steps: [{ visit: '{client}/page' }, { send: 'Go' }],
}))

const formActions: Record<string, string> = {
  "'self'": '/next',
  "'self' ": '{other}/next',
  "'none'": '/next',
  "'self' {other}": '{other}/next',
  'http:': '{other}/next',
  '*': '{other}/next',
  'http://127.0.0.1:*': '{other}/next',
  '127.0.0.1:*/next': '{other}/next',
  '{other}/elsewhere': '{other}/next',
  '{other}/nex': '{other}/next',
}

export const navigations: Situation[] = [
  ...Object.entries(situations).map(([name, { answers, steps }]) => ({
    name: `navigations: ${name}`,
    answers,
    hasCookies: true,
    steps,
  })),
  ...answered,
  ...Object.entries(formActions).map(([source, action]) => ({
    name: `navigations: form-action ${source} for ${action}`,
    answers: {
      'client/page': {
        ...form(action),
        headers: { 'content-security-policy': `default-src 'none'; form-action ${source}` },
      },
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }] as Step[],
  })),
  {
    name: 'navigations: form-action also applies to the address to which the form is redirected',
    answers: {
      'client/page': { ...form('/take'), headers: { 'content-security-policy': "form-action 'self'" } },
      'client/take': sentOn(303, '{other}/'),
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  {
    name: 'navigations: form-action allows every path of the origin to which the form is redirected',
    answers: {
      'client/page': { ...form('/take'), headers: { 'content-security-policy': "form-action 'self' {other}/login" } },
      'client/take': sentOn(303, '{other}/'),
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  {
    name: 'navigations: form-action in a meta element',
    answers: {
      'client/page': {
        body: `<!doctype html><meta http-equiv="Content-Security-Policy" content="form-action 'none'"><form method=post action=/next><button>Go</button></form>`,
      },
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
]
