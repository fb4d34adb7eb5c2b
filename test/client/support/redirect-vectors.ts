// Addresses that look like paths of a site (CL-25), grouped by the site that Chromium really opens for them.

/** With these addresses, Chromium leaves the site. */
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

/**
 * With these addresses, Chromium stays on the site, but the normalised path begins with two slashes. A browser that
 * then opens the normalised path leaves the site.
 */
export const leavingLater = ['/.//evil.test/', '/..//evil.test/', '/a/../..//evil.test/']

/** With these addresses, Chromium stays on the site, or opens nothing. */
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
