// Where Chromium goes for addresses that only look like paths of a site (CL-25): measured, not reasoned.

/** These leave the site. */
export const leaving = [
  '//evil.test/',
  '/\\evil.test/',
  '\\\\evil.test/',
  '/\t/evil.test/',
  '\t//evil.test/',
  '///evil.test/',
  ' //evil.test/',
  '/\n/evil.test/',
  'https:evil.test/',
  'https:/evil.test/',
  'https://evil.test/',
  'http://localhost:3000@evil.test/',
]

/** These stay, but their normalised path begins with two slashes, and leaves when it is used again. */
export const leavingLater = ['/.//evil.test/', '/..//evil.test/', '/a/../..//evil.test/']

/** These stay, or go nowhere. */
export const staying = [
  '/./\\evil.test/',
  '/%2f/evil.test/',
  '/%5cevil.test/',
  'http:evil.test/',
  '/ /evil.test/',
  '/@evil.test/',
  'evil.test/',
  '／／evil.test/',
  'javascript:alert(1)',
  'data:text/html,x',
]
