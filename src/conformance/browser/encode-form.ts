// The request that a browser sends for a form (HTML, 4.10.21.4 to 4.10.21.8).
import { randomBytes } from 'node:crypto'
import type { Button, Control, Enctype, Entry, Form, Values } from './form.ts'

interface Submission {
  method: Form['method']
  url: string
  body: string | undefined
  contentType: string | undefined
}

/**
 * Returns the request that the browser sends when a person fills in the form with `values` and presses `button`. The
 * keys of `values` are names of controls. A list fills several controls with the same name, and an empty list selects
 * none of them. Throws an Error for a field or a choice that the form does not have.
 */
export function encodeForm(form: Form, values: Values = {}, button?: Button): Submission {
  const entries = fill(form, values, button)
  const method = button?.method ?? form.method
  const url = new URL(button?.action ?? form.action)
  if (method === 'GET') {
    url.search = urlencode(entries)
    return { method, url: url.href, body: undefined, contentType: undefined }
  }
  const enctype = button?.enctype ?? form.enctype
  return { method, url: url.href, ...encode(entries, enctype) }
}

/** Thrown if a list, or a group of check boxes or radio buttons, does not offer the value that a check wants to send. */
export class MissingChoice extends Error {}

function fill({ controls }: Form, values: Values, pressed: Button | undefined): Entry[] {
  const rest = new Map(Object.entries(values).map(([name, value]) => [name, [value].flat()]))
  const entries = controls.flatMap(control => {
    if (control.button) return control.button === pressed ? toEntries(control.button) : []
    const given = rest.get(control.name)
    const sent = given ? take(control, given) : control.values
    return sent.map(value => ({ name: control.name, value, isFile: control.type === 'file' }))
  })
  const known = new Set(controls.filter(({ button }) => !button).map(({ name }) => name))
  for (const [name, left] of rest)
    if (left.length > 0 || !known.has(name))
      throw known.has(name)
        ? new MissingChoice(`The form offers no choice ${name}=${left.join(', ')}.`)
        : new Error(`The form has no field ${name}; it has ${[...known].join(', ') || 'none'}.`)
  return entries
}

/** Returns those of the given values that this control sends, and removes them from `given`. */
function take({ type, choices }: Control, given: string[]): string[] {
  if (!choices) return given.splice(0, 1)
  const chosen = choices.filter(choice => given.includes(choice)).slice(0, type === 'select-one' ? 1 : undefined)
  for (const choice of chosen) given.splice(given.indexOf(choice), 1)
  return chosen
}

function toEntries({ name, value, isImage }: Button): Entry[] {
  if (isImage) return ['x', 'y'].map(axis => ({ name: name ? `${name}.${axis}` : axis, value: '0', isFile: false }))
  return name ? [{ name, value, isFile: false }] : []
}

function encode(entries: Entry[], enctype: Enctype): { body: string; contentType: string } {
  if (enctype === 'application/x-www-form-urlencoded') return { body: urlencode(entries), contentType: enctype }
  if (enctype === 'text/plain')
    return {
      body: entries.map(({ name, value }) => `${toCrlf(name)}=${toCrlf(value)}\r\n`).join(''),
      contentType: enctype,
    }
  const boundary = `----WebKitFormBoundary${randomBytes(8).toString('hex')}`
  const parts = entries.map(({ name, value, isFile }) =>
    isFile
      ? `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"; filename="${escapeName(value)}"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n`
      : `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"\r\n\r\n${toCrlf(value)}\r\n`,
  )
  return { body: `${parts.join('')}--${boundary}--\r\n`, contentType: `${enctype}; boundary=${boundary}` }
}

function urlencode(entries: Entry[]): string {
  return new URLSearchParams(
    entries.map(({ name, value }): [string, string] => [toCrlf(name), toCrlf(value)]),
  ).toString()
}

function toCrlf(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n')
}

function escapeName(name: string): string {
  return toCrlf(name).replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}
