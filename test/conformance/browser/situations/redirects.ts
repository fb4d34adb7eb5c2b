// Situations that show which address a browser opens after a Location header or a refresh, and when it opens no
// address.

import type { Situation } from '../situation.ts'
import type { Answer, Answers } from '../start-sites.ts'

const locations: Record<string, string> = {
  'an absolute address': '{client}/there?a=1#part',
  'a path': '/there',
  'a path relative to the page': 'there',
  'only a query': '?there',
  'only a fragment': '#there',
  nothing: '',
  'without a scheme': '//127.0.0.1:1/',
  backslashes: '/\\127.0.0.1:1/there',
  dots: '/a/../there/./x',
  'a space and a letter beyond ASCII': '/th ere/\u00c3\u00a9?\u00c3\u00a9',
  'a script': 'javascript:alert(1)',
  data: 'data:text/html,hello',
  'a mail address': 'mailto:somebody@example.test',
  'an invalid address': 'http://',
  'http: without slashes': 'http:there',
  'upper case': 'HTTP://LOCALHOST:1/',
}

const refreshes: Record<string, string> = {
  'the usual format': '0;url=/there',
  'spaces and capitals': ' 0 ; URL = /there ',
  'a comma': '0, url=/there',
  'no url=': '0;/there',
  'only a space as the separator': '0 /there',
  quotes: `0;url='/there'/more`,
  'double quotes that are not closed': '0;url=&quot;/there',
  'a fraction': '0.5;url=/there',
  'only a fraction': '.5;url=/there',
  'no time': ';url=/there',
  'no time and no semicolon': 'url=/there',
  'a word': 'x;url=/there',
  negative: '-1;url=/there',
  'url without an equals sign': '0;url /there',
  'a script': '0;url=javascript:alert(1)',
  'a delay of ten minutes': '600;url=/there',
}

const many: Answers = Object.fromEntries(
  Array.from({ length: 30 }, (_, index): [string, Answer] => [
    `client/${index}`,
    { status: 302, headers: { location: `/${index + 1}` } },
  ]),
)

export const redirects: Situation[] = [
  ...Object.entries(locations).map(([name, location]) => ({
    name: `redirects: to ${name}`,
    answers: { 'client/from/here': { status: 302, headers: { location } } },
    steps: [{ visit: '{client}/from/here#fragment' }],
  })),
  ...[300, 301, 308, 201].map(status => ({
    name: `redirects: with ${status}`,
    answers: { 'client/from': { status, headers: { location: '/there' } } },
    steps: [{ visit: '{client}/from' }],
  })),
  ...['gzip', 'deflate', 'br', 'zstd', 'gzip, br'].map(coding => ({
    name: `redirects: with an empty body in the coding ${coding}`,
    answers: { 'client/from': { status: 302, headers: { location: '/there', 'content-encoding': coding }, body: '' } },
    steps: [{ visit: '{client}/from' }],
  })),
  ...Object.entries(refreshes).map(([name, content]) => ({
    name: `refreshes: ${name}`,
    answers: { 'client/from': { body: `<!doctype html><meta http-equiv="Refresh" content="${content}">` } },
    steps: [{ visit: '{client}/from' }],
  })),
  {
    name: 'refreshes: in a header',
    answers: { 'client/from': { headers: { refresh: '0;url=/there' } } },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: in a header and in the page',
    answers: {
      'client/from': { headers: { refresh: '0;url=/header' }, body: '<meta http-equiv=refresh content="0;url=/meta">' },
    },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: two in one page',
    answers: {
      'client/from': {
        body: '<meta http-equiv=refresh content="0;url=/one"><meta http-equiv=refresh content="0;url=/two">',
      },
    },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: relative to the base element',
    answers: { 'client/from': { body: '<base href="/deep/er"><meta http-equiv=refresh content="0;url=there">' } },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: in a noscript element in the body of the page',
    answers: {
      'client/from': { body: '<p>Text</p><noscript><meta http-equiv=refresh content="0;url=/there"></noscript>' },
    },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: in a comment and in a textarea',
    answers: {
      'client/from': {
        body: '<!-- <meta http-equiv=refresh content="0;url=/a"> --><textarea><meta http-equiv=refresh content="0;url=/b"></textarea>',
      },
    },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: on an error page',
    answers: { 'client/from': { status: 500, body: '<meta http-equiv=refresh content="0;url=/there">' } },
    steps: [{ visit: '{client}/from' }],
  },
  {
    name: 'refreshes: in an answer that is not HTML',
    answers: {
      'client/from': {
        headers: { 'content-type': 'text/plain' },
        body: '<meta http-equiv=refresh content="0;url=/there">',
      },
    },
    steps: [{ visit: '{client}/from' }],
  },
  { name: 'redirects: thirty redirects in a row', answers: many, steps: [{ visit: '{client}/0' }] },
  {
    name: 'redirects: to an answer without a page, so that the page stays open',
    answers: {
      'client/page': { body: '<a href=/gone>Go</a>' },
      'client/gone': { status: 302, headers: { location: '/nothing' } },
      'client/nothing': { status: 204 },
    },
    steps: [{ visit: '{client}/page' }, { press: 'Go' }, 'reload'],
  },
  {
    name: 'redirects: to a download, so that the page stays open',
    answers: {
      'client/page': { body: '<a href=/file>Go</a>' },
      'client/file': {
        headers: { 'content-disposition': 'attachment; filename=a.txt', 'content-type': 'text/plain' },
        body: 'text',
      },
    },
    steps: [{ visit: '{client}/page' }, { press: 'Go' }, 'reload'],
  },
]
