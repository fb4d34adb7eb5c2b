// Situations that show which Referer and Origin headers browsers send for each referrer policy, to the same origin and
// to other origins.

import type { Situation } from '../situation.ts'
import type { Answer } from '../start-sites.ts'

const policies = [
  'no-referrer',
  'no-referrer-when-downgrade',
  'origin',
  'origin-when-cross-origin',
  'same-origin',
  'strict-origin',
  'strict-origin-when-cross-origin',
  'unsafe-url',
]

const body =
  '<!doctype html><a href="/own">Own</a> <a href="{other}/">Far</a> <form method="post" action="{other}/"><button>Send</button></form>'
const far = '<!doctype html><a href="{other}/">Go</a>'
const own = '<!doctype html><form method="post" action="{other}/"><button>Send</button></form>'
const link = (more: string): Answer => ({ body: `<!doctype html><a href="{other}/" ${more}>Go</a>` })

export const referrers: Situation[] = [
  ...policies.map(
    (policy): Situation => ({
      name: `referrers: ${policy}`,
      answers: {
        'client/page': { body, headers: { 'referrer-policy': policy } },
        'client/own': { body: own, headers: { 'referrer-policy': policy } },
        'client/far': { body: far, headers: { 'referrer-policy': policy } },
      },
      steps: [
        { visit: '{client}/page?q=1#f' },
        { press: 'Own' },
        { send: 'Send' },
        { visit: '{client}/far' },
        { press: 'Go' },
      ],
    }),
  ),
  ...Object.entries({
    'several policies, the last one unknown': 'no-referrer, unsafe-url, nonsense',
    'an unknown policy': 'nonsense',
    'a policy in upper case': 'NO-REFERRER',
    'an empty value': '',
  }).map(
    ([name, policy]): Situation => ({
      name: `referrers: a header with ${name}`,
      answers: { 'client/page': { body, headers: { 'referrer-policy': policy } } },
      steps: [{ visit: '{client}/page?q=1' }, { press: 'Far' }],
    }),
  ),
  ...Object.entries({
    'rel=noreferrer': 'rel="noopener noreferrer"',
    'an attribute of the link': 'referrerpolicy="unsafe-url"',
    both: 'rel="noreferrer" referrerpolicy="unsafe-url"',
  }).map(
    ([name, more]): Situation => ({
      name: `referrers: ${name}`,
      answers: { 'client/page': link(more) },
      steps: [{ visit: '{client}/page?q=1' }, { press: 'Go' }],
    }),
  ),
  {
    name: 'referrers: a form with rel=noreferrer',
    answers: {
      'client/page': {
        body: '<!doctype html><form method=post action=/next rel=noreferrer><button>Go</button></form>',
      },
    },
    steps: [{ visit: '{client}/page' }, { send: 'Go' }],
  },
  {
    name: 'referrers: a header, and a meta element with another policy',
    answers: {
      'client/page': {
        body: `<!doctype html><meta name="referrer" content="unsafe-url">${body}`,
        headers: { 'referrer-policy': 'no-referrer' },
      },
    },
    steps: [{ visit: '{client}/page?q=1' }, { press: 'Far' }],
  },
  {
    name: 'referrers: an old policy name in a meta element',
    answers: { 'client/page': { body: `<!doctype html><meta name="referrer" content="never">${body}` } },
    steps: [{ visit: '{client}/page?q=1' }, { press: 'Far' }],
  },
  {
    name: 'referrers: a redirect that sets the policy',
    answers: {
      'client/page': { body: '<!doctype html><a href="/out">Go</a>' },
      'client/out': { status: 302, headers: { location: '{other}/', 'referrer-policy': 'no-referrer' } },
    },
    steps: [{ visit: '{client}/page?q=1' }, { press: 'Go' }],
  },
  {
    name: 'referrers: a redirect whose policy sends more than the policy of the page',
    answers: {
      'client/page': { body: '<!doctype html><a href="/out">Go</a>' },
      'client/out': { status: 302, headers: { location: '{other}/', 'referrer-policy': 'unsafe-url' } },
    },
    steps: [{ visit: '{client}/page?q=1' }, { press: 'Go' }],
  },
  {
    name: 'referrers: an address of more than 4096 characters',
    answers: { 'client/page': { body } },
    steps: [{ visit: `{client}/page?q=${'x'.repeat(4200)}` }, { press: 'Own' }],
  },
]
