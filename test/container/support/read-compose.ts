// Reads compose files in the same way as Docker Compose: resolves anchors, merges later files into the first file, and
// uses the values or the default values of variables.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export type Service = {
  user: string
  image?: string
  build?: { target: string }
  environment?: Record<string, string>
  volumes?: string[]
  ports?: string[]
  networks?: string[] | Record<string, { ipv4_address?: string }>
  depends_on?: Record<string, { condition: string }>
  [setting: string]: unknown
}

export type Compose = {
  services: Record<string, Service>
  volumes: Record<string, unknown>
  networks?: Record<string, unknown>
  [part: string]: unknown
}

/** The value for the tag !reset. With this tag, a compose file removes a value of an earlier file. */
const reset = Symbol('reset')
const resetTag = { tag: '!reset', collection: 'seq', identify: () => false, resolve: () => reset } as const

export function readCompose(...paths: string[]): Compose {
  return readComposeWith({}, ...paths)
}

/** Reads compose files with these values of variables. A required variable without a value gets a made-up value. */
export function readComposeWith(variables: Record<string, string>, ...paths: string[]): Compose {
  const fill = (_key: unknown, value: unknown) => (typeof value === 'string' ? fillIn(value, variables) : value)
  const options = { merge: true, customTags: [resetTag] }
  const files = paths.map(path => parse(readFileSync(path, 'utf8'), fill, options) as unknown)
  return files.reduce(lay) as Compose
}

function fillIn(text: string, variables: Record<string, string>): string {
  // A default can contain another variable. The expression finds only innermost variables.
  const filled = text.replace(/\$\{(\w+):([-?])([^${}]*)\}/g, (_, name, kind, fallback) => {
    return variables[name] || (kind === '-' ? fallback : `value-of-${name}-in-the-environment`)
  })
  return filled === text ? text : fillIn(filled, variables)
}

function lay(below: unknown, above: unknown): unknown {
  if (Array.isArray(below) && Array.isArray(above)) return [...below, ...above]
  if (!isMapping(below) || !isMapping(above)) return above
  const merged = { ...below }
  for (const [key, value] of Object.entries(above)) {
    if (value === reset) delete merged[key]
    else merged[key] = key in below ? lay(below[key], value) : value
  }
  return merged
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
