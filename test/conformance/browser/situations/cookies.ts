// Situations that show which cookies browsers keep, and in which order they send them.
import type { Situation, Step } from '../situation.ts'

/**
 * The Set-Cookie lines that `client/deep/set` sends. One answer contains the lines of many rows, so `$` stands for the
 * number of the row in the cookie name.
 */
const lines: Record<string, string[]> = {
  'no attributes': ['$a=1'],
  'a cookie for every path': ['$a=1; Path=/'],
  'a path does not match the beginning of a longer path segment': [
    '$a=1; Path=/dee',
    '$b=2; Path=/deep',
    '$c=3; Path=/deep/',
  ],
  'a path that does not begin with a slash': ['$a=1; Path=deep', '$b=2; Path='],
  'longer paths come first, and then older cookies': [
    '$a=1; Path=/',
    '$b=2; Path=/deep',
    '$c=3; Path=/',
    '$d=4; Path=/deep',
  ],
  'the same name on two paths': ['$a=1; Path=/', '$a=2; Path=/deep'],
  'a cookie that is set again with the same value keeps its position': ['$a=1; Path=/', '$b=2; Path=/', '$a=1; Path=/'],
  'a cookie that is set again with another value': ['$a=1; Path=/', '$b=2; Path=/', '$a=3; Path=/'],
  'no name': ['=only; Path=/', '$b=2; Path=/'],
  'neither name nor value': ['=; Path=/', '; Path=/', '$b=; Path=/'],
  'white space around names and values': ['  $a  =  1 2  ; Path=/', '$b="q; x"; Path=/', '$c= "quoted" ;Path=/'],
  'more equals signs': ['$a=b=c==; Path=/'],
  'repeated attributes': ['$a=1; Path=/nowhere; Path=/', '$b=2; Max-Age=0; Max-Age=600; Path=/'],
  'attributes in any case': ['$a=1; PATH=/; MAX-AGE=600; HTTPONLY; SAMESITE=STRICT; SECURE'],
  'unknown attributes': ['$a=1; Path=/; Priority=High; Colour=red'],
  'bytes beyond ASCII': ['$a=\u00c3\u00a9; Path=/'],
  'a tab in a value': ['$a=1\t2; Path=/'],
  'Max-Age in seconds': ['$a=1; Path=/; Max-Age=600'],
  'Max-Age of zero or less': ['$a=1; Path=/; Max-Age=0', '$b=2; Path=/; Max-Age=-5', '$c=3; Path=/'],
  'Max-Age that is not a number': [
    '$a=1; Path=/; Max-Age=abc',
    '$b=2; Path=/; Max-Age=1.5',
    '$c=3; Path=/; Max-Age=NaN',
  ],
  'Max-Age with a sign, a space or quotes': [
    '$a=1; Path=/; Max-Age=+600',
    '$b=2; Path=/; Max-Age= 600 ',
    '$c=3; Path=/; Max-Age="600"',
  ],
  'an empty Max-Age': ['$a=1; Path=/; Max-Age=', '$b=1; Path=/; Max-Age', '$c=3; Path=/; Max-Age=-'],
  'no cookie lives longer than 400 days': [
    '$a=1; Path=/; Max-Age=999999999',
    '$b=2; Path=/; Max-Age=100000000000000000000',
    '$c=3; Path=/; Expires=Fri, 31 Dec 9999 23:59:59 GMT',
  ],
  'Max-Age wins over Expires': [
    '$a=1; Path=/; Max-Age=600; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
    '$b=2; Path=/; Expires=Fri, 31 Dec 2100 00:00:00 GMT; Max-Age=0',
  ],
  'Expires in the past': [
    '$a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
    '$b=2; Path=/; Expires=Thu, 01-Jan-70 00:00:01 GMT',
  ],
  'Expires that is not a date': [
    '$a=1; Path=/; Expires=tomorrow',
    '$b=2; Path=/; Expires=0',
    '$c=3; Path=/; Expires=-1',
  ],
  'Expires in several date formats': [
    '$a=1; Path=/; Expires=Sun, 06 Nov 2033 08:49:37 GMT',
    '$b=2; Path=/; Expires=Sunday, 06-Nov-33 08:49:37 GMT',
    '$c=3; Path=/; Expires=Sun Nov  6 08:49:37 2033',
    '$d=4; Path=/; Expires=2033-11-06T08:49:37Z',
    '$e=5; Path=/; Expires=06 November 2033 8:49:37 +0200',
    '$f=6; Path=/; Expires=31 Feb 2033 08:49:37 GMT',
    '$g=7; Path=/; Expires=06 Nov 2033 24:00:00 GMT',
  ],
  'Secure on a loopback address': ['$a=1; Path=/; Secure', '$b=2; Path=/; Secure; SameSite=None'],
  'SameSite=None without Secure': ['$a=1; Path=/; SameSite=None'],
  'an unknown SameSite value': ['$a=1; Path=/; SameSite=Loose', '$b=2; Path=/; SameSite', '$c=3; Path=/; SameSite='],
  '__Host- with all required attributes': ['__Host-$a=1; Secure; Path=/'],
  '__Host- without Secure': ['__Host-$a=1; Path=/', '__host-$b=2; Path=/'],
  '__Host- with another path, or without a path': ['__Host-$a=1; Secure; Path=/deep', '__Host-$b=2; Secure'],
  '__Host- with a domain': ['__Host-$a=1; Secure; Path=/; Domain=localhost', '__Host-$b=1; Secure; Path=/; Domain='],
  '__Secure- with and without Secure': ['__Secure-$a=1; Secure', '__Secure-$b=2; Path=/', '__secure-$c=3; Path=/'],
  '__Http- and __Host-Http-': [
    '__Http-$a=1; Secure; HttpOnly',
    '__Http-$b=2; Secure',
    '__Host-Http-$c=3; Secure; HttpOnly; Path=/',
    '__Host-Http-$d=4; Secure; Path=/',
  ],
  'a prefix in a value without a name': ['=__Host-$a=1; Secure; Path=/', '__Secure-$b; Secure; Path=/'],
  'the domain of the host itself': [
    '$a=1; Path=/; Domain=localhost',
    '$b=2; Path=/; Domain=.localhost',
    '$c=3; Path=/; Domain=LOCALHOST',
  ],
  'the domain of another host': [
    '$a=1; Path=/; Domain=example.test',
    '$b=2; Path=/; Domain=127.0.0.1',
    '$c=3; Path=/; Domain=host',
  ],
  'an empty domain': ['$a=1; Path=/; Domain=', '$b=2; Path=/; Domain', '$c=3; Path=/; Domain=.'],
  Partitioned: ['$a=1; Path=/; Partitioned', '$b=2; Path=/; Secure; SameSite=None; HttpOnly'],
  'a cookie without Secure does not replace a Secure cookie': ['$a=1; Path=/; Secure', '$a=2; Path=/'],
  'a cookie without HttpOnly replaces an HttpOnly cookie': ['$a=1; Path=/; HttpOnly', '$a=2; Path=/'],
  'a cookie that is too large does not replace the old cookie': ['$a=1; Path=/', `$a=${'x'.repeat(4096)}; Path=/`],
  'an attribute that is too long': [`$a=1; Path=/${'x'.repeat(1024)}`, `$b=2; Path=/deep${'/x'.repeat(300)}`],
  'deleting needs the same path': ['$a=1; Path=/', '$a=; Max-Age=0', '$b=2; Path=/', '$b=; Path=/; Max-Age=0'],
  'a cookie with an empty value': ['$a=; Path=/'],
}

const steps: Step[] = ['{client}/deep/set', '{client}/deep/er/page', '{sibling}/', '{other}/'].map(visit => ({ visit }))

/** The lines of all rows, with a different cookie name for each row. `r0` is the first. */
const allRows = Object.values(lines).flatMap((row, index) => row.map(line => line.replace('$', `r${index}`)))

export const cookies: Situation[] = [
  { name: 'cookies: the rows', answers: { 'client/deep/set': { headers: { 'set-cookie': allRows } } }, steps },
  {
    name: 'cookies: name and value take 4096 bytes together, or one byte more',
    answers: {
      'client/deep/set': {
        headers: {
          'set-cookie': [
            `a=${'x'.repeat(4095)}; Path=/`,
            `b=${'x'.repeat(4096)}; Path=/`,
            `${'n'.repeat(4096)}; Path=/`,
          ],
        },
      },
    },
    steps: steps.slice(0, 2),
  },
  {
    name: 'cookies: 200 cookies of one host',
    answers: {
      'client/set': {
        headers: { 'set-cookie': Array.from({ length: 200 }, (_, index) => `c${index}=${index}; Path=/`) },
      },
    },
    steps: [{ visit: '{client}/set' }, { visit: '{client}/' }],
  },
  {
    name: 'cookies: 200 cookies of one host, some of them Secure',
    answers: {
      'client/set': {
        headers: {
          'set-cookie': Array.from(
            { length: 200 },
            (_, index) => `c${index}=${index}; Path=/${index % 2 ? '; Secure' : ''}`,
          ),
        },
      },
    },
    steps: [{ visit: '{client}/set' }, { visit: '{client}/' }],
  },
  {
    name: 'cookies: Clear-Site-Data',
    answers: {
      'client/set': { headers: { 'set-cookie': ['a=1; Path=/', '__Host-b=2; Path=/; Secure; HttpOnly'] } },
      'client/clear': { headers: { 'clear-site-data': '"cookies"', 'set-cookie': 'c=3; Path=/' } },
    },
    steps: [{ visit: '{client}/set' }, { visit: '{client}/clear' }, { visit: '{client}/' }],
  },
  {
    name: 'cookies: Clear-Site-Data that does not name cookies',
    answers: {
      'client/set': { headers: { 'set-cookie': 'a=1; Path=/' } },
      'client/clear': { headers: { 'clear-site-data': '"cache", "storage"' } },
    },
    steps: [{ visit: '{client}/set' }, { visit: '{client}/clear' }, { visit: '{client}/' }],
  },
  {
    name: 'cookies: set with a redirect, and deleted by the next answer',
    answers: {
      'client/one': { status: 302, headers: { location: '/two', 'set-cookie': ['a=1; Path=/', 'b=2'] } },
      'client/two': { status: 303, headers: { location: '/three', 'set-cookie': 'a=; Path=/; Max-Age=0' } },
    },
    steps: [{ visit: '{client}/one' }],
  },
]
