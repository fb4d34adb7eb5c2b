// Reads settings from the environment and collects every problem. config.ts uses this file for the client's settings,
// and settings.ts uses it for the product's settings.
import { Secret } from './secret.ts'

export type Setting = {
  name: string
  about: string
  /**
   * The value that is used if the setting is missing. A setting without a default is required. A setting with an empty
   * default is optional. If the value depends on other settings, this text only describes the value in tables. `read`
   * then passes the value itself as `fallback`.
   */
  default?: string
  /** The value of a secret can also be in a file, whose path is in NAME_FILE. Read the value with `secret`. */
  isSecret?: true
}

/**
 * The settings of a product: a list of the settings, and a function that reads their values. The result of the function
 * becomes `config.product`.
 */
export type ProductSettings<Product extends object> = {
  list: readonly Setting[]
  read: (reader: SettingsReader) => Product
}

/** Returns its argument. From this call, TypeScript infers the type of `read`'s parameter. */
export function defineSettings<Product extends object>(settings: ProductSettings<Product>): ProductSettings<Product> {
  return settings
}

/** The description of a setting in lists and tables. */
export function describeSetting({ name, about, isSecret }: Setting): string {
  return isSecret ? `${about} Also as ${name}_FILE.` : about
}

export type Environment = Record<string, string | undefined>

export type SettingsReader = ReturnType<typeof createSettingsReader>

/** The hosts for which the platform registers redirect URIs with http. */
function isLoopback({ hostname }: URL): boolean {
  return /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname)
}

/**
 * Whether the address uses http and leads to another machine. If so, other people on the network can read everything
 * that is sent.
 */
export function isPlainHttp(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopback(url)
}

/**
 * Returns functions that read settings. If a value is missing or wrong, these functions add a problem to `problems` and
 * return an empty value. A problem is one line, and contains no secret.
 */
export function createSettingsReader(
  list: readonly Setting[],
  environment: Environment,
  readFile: (path: string) => string,
  problems: string[],
) {
  const settings = new Map(list.map(setting => [setting.name, setting]))
  const repeated = list.find((setting, index) => list.findIndex(({ name }) => name === setting.name) < index)
  if (repeated) throw new Error(`Two settings have the same name: ${repeated.name}.`)

  function find(name: string): Setting {
    const setting = settings.get(name)
    if (!setting) throw new Error(`The list of settings does not contain ${name}.`)
    return setting
  }

  /** Adds a problem. The text should name the setting and say what to do. */
  function problem(text: string): '' {
    problems.push(text)
    return ''
  }

  /** `fallback` is a default that depends on other settings. */
  function text(name: string, fallback = find(name).default): string {
    if (find(name).isSecret) throw new Error(`${name} is a secret. Read it with secret().`)
    return environment[name]?.trim() || (fallback ?? problem(`${name} is missing.`))
  }

  /** If the setting is missing, the problem ends with the sentence `howToGet`. */
  function secret(name: string, howToGet = ''): Secret {
    const setting = find(name)
    if (!setting.isSecret) throw new Error(`${name} needs isSecret in the list of settings.`)
    const [given, path] = [environment[name]?.trim(), environment[`${name}_FILE`]?.trim()]
    if (given && path) return new Secret(problem(`${name} and ${name}_FILE are both set. Remove one of them.`))
    if (!path) return new Secret(given || (setting.default ?? problem(`${name} is missing. ${howToGet}`.trim())))
    try {
      return new Secret(readFile(path).trim() || problem(`${name}_FILE names an empty file.`))
    } catch {
      return new Secret(problem(`${name}_FILE names a file that this process cannot read.`))
    }
  }

  function integer(name: string, most: number, least = 0): number {
    const value = text(name)
    if (/^\d{1,9}$/.test(value) && Number(value) >= least && Number(value) <= most) return Number(value)
    // If the setting is missing, text() has already added a problem.
    if (value || 'default' in find(name)) problem(`${name} must be a whole number from ${least} to ${most}.`)
    return 0
  }

  function oneOf<Value extends string>(name: string, values: readonly Value[]): Value {
    const value = text(name)
    const found = values.find(one => one === value)
    if (found === undefined && (value || 'default' in find(name)))
      problem(`${name} must be ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(values)}.`)
    return found ?? values[0]!
  }

  /**
   * Returns an address without a trailing slash. The address must use https, because the client sends secrets and sets
   * Secure cookies. For loopback addresses, plain http is allowed, as in browsers.
   */
  function address(name: string, fallback?: string, { allowHttp = false, allowPath = true } = {}): string {
    const value = text(name, fallback)
    const url = URL.parse(value)
    if (!value) return ''
    if (!url || !/^https?:$/.test(url.protocol)) return problem(`${name} must be an http or https address.`)
    if (url.username || url.password || /[?#]/.test(value))
      return problem(`${name} must have no user name, query or fragment.`)
    if (isPlainHttp(url) && !allowHttp)
      return problem(`${name} must begin with https://, because http:// is only for loopback addresses.`)
    if (!allowPath && url.pathname !== '/') return problem(`${name} must be an origin, without a path: ${url.origin}`)
    return (url.origin + url.pathname).replace(/\/+$/, '')
  }

  return { text, secret, integer, oneOf, address, problem }
}
