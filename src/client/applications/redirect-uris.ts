// The rules of the application API for a redirect URI (RFC 6749 3.1.2, RFC 9700 2.6), each in words for who typed one.

const longest = 2_048

type Rule = { isBroken: (uri: string, url: URL) => boolean; says: string }

const rules: Rule[] = [
  { isBroken: uri => uri.length > longest, says: `must have at most ${longest} characters` },
  { isBroken: uri => !/^[\x21-\x7e]+$/.test(uri), says: 'must be plain ASCII, with everything else percent-encoded' },
  { isBroken: uri => uri.includes('#'), says: 'must not have a fragment (#)' },
  { isBroken: uri => /[*\\]/.test(uri), says: 'must not contain * or \\' },
  { isBroken: (_, url) => Boolean(url.username || url.password), says: 'must not contain a user name or password' },
  { isBroken: (_, url) => !isPlainHost(url), says: 'must have a host of letters, digits, dots and hyphens' },
  {
    isBroken: (_, url) => url.protocol === 'http:' && !isLoopback(url),
    says: 'must begin with https://, because http:// is only for localhost, 127.0.0.1 and [::1]',
  },
]

/** What stands in a list of them, one a line or with commas between. */
export function splitUris(list: string): string[] {
  return list.split(/[\s,]+/).filter(Boolean)
}

/** A sentence about the first rule that it breaks; none where it keeps them all. */
export function findRedirectProblem(uri: string): string[] {
  const shown = uri.length > 100 ? `${uri.slice(0, 100)}…` : uri
  const url = /^https?:\/\//i.test(uri) ? URL.parse(uri) : null
  if (!url) return [`“${shown}” must be a complete address that begins with https://.`]
  const broken = rules.find(rule => rule.isBroken(uri, url))
  return broken ? [`“${shown}” ${broken.says}.`] : []
}

/** Whether its host can be read as nothing else; URL parsers let `;`, `'` and more through. */
export function isPlainHost({ hostname }: URL): boolean {
  return /^([a-z0-9.-]+|\[[0-9a-f:.]+\])$/.test(hostname)
}

function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(hostname)
}
