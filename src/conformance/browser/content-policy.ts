// Finds out whether the Content-Security-Policy of a page allows the page to send a form, to refresh itself and to keep
// its origin (CSP level 3).

export interface ContentPolicy {
  /** True if the policy sandboxes the page so that it has no origin. */
  isOpaque: boolean
  mayRefresh: boolean
  /**
   * `isRedirect`: true if a redirect of the form's request leads to this address. CSP then ignores the paths in the
   * policy.
   */
  maySendForm(to: URL, isRedirect: boolean): boolean
}

/**
 * `header` is the Content-Security-Policy of the answer. `metas` are the policies in the meta elements of the page,
 * where browsers ignore the directive `sandbox`.
 */
export function readContentPolicy(url: string, header: string, metas: string[]): ContentPolicy {
  const policies = [header, ...metas].flatMap(text => text.split(',')).map(readDirectives)
  const sandboxes = header
    .split(',')
    .map(text => readDirectives(text).get('sandbox'))
    .filter(words => words !== undefined)
  const allows = (word: string) => sandboxes.every(words => words.includes(word))
  const actions = policies.map(directives => directives.get('form-action')).filter(sources => sources !== undefined)
  return {
    isOpaque: !allows('allow-same-origin'),
    mayRefresh: allows('allow-scripts'),
    maySendForm: (to, isRedirect) =>
      allows('allow-forms') &&
      actions.every(sources => sources.some(source => matches(source, new URL(url), to, isRedirect))),
  }
}

function readDirectives(policy: string): Map<string, string[]> {
  const directives = new Map<string, string[]>()
  for (const directive of policy.split(';')) {
    const [name = '', ...words] = directive.trim().toLowerCase().split(/\s+/)
    // If several directives have the same name, only the first one counts.
    if (!directives.has(name)) directives.set(name, words)
  }
  return directives
}

/** Whether a source expression matches the address (CSP 3, 6.7.2.8). */
function matches(source: string, self: URL, to: URL, isRedirect: boolean): boolean {
  if (source === '*') return /^https?:$/.test(to.protocol)
  if (source === "'self'") return isPort(self.port, to) && self.hostname === to.hostname && isScheme(self.protocol, to)
  if (/^[a-z][a-z\d+.-]*:$/.test(source)) return isScheme(source, to)
  const [, scheme, host, port = '', path = ''] =
    /^(?:([a-z][a-z\d+.-]*:)\/\/)?(\[[^\]]*\]|[^:/]+)(?::(\d+|\*))?(\/.*)?$/.exec(source) ?? []
  if (host === undefined || !isScheme(scheme ?? self.protocol, to) || !isPort(port, to)) return false
  const isHost = host.startsWith('*.') ? to.hostname.endsWith(host.slice(1)) : host === '*' || host === to.hostname
  const pathname = to.pathname.toLowerCase()
  return isHost && (isRedirect || path === '' || (path.endsWith('/') ? pathname.startsWith(path) : pathname === path))
}

/** A source for http also allows https. */
function isScheme(scheme: string, { protocol }: URL): boolean {
  return protocol === scheme || (scheme === 'http:' && protocol === 'https:')
}

function isPort(port: string, to: URL): boolean {
  return port === '*' || port === to.port
}
