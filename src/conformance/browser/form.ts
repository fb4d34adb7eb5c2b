// Reads the forms of a page, and the values that each control sends (HTML, 4.10.18 and 4.10.21).
import { ancestorsOf, attribute, type Element, elementsOf, rawTextOf, textOf } from './html.ts'

export type Enctype = 'application/x-www-form-urlencoded' | 'multipart/form-data' | 'text/plain'

export interface Form {
  method: 'GET' | 'POST'
  action: string
  enctype: Enctype
  /** The name and the initial value of each control, without the buttons. */
  fields: [name: string, value: string][]
  /** The buttons that submit the form, in the order of the page. */
  buttons: Button[]
  controls: Control[]
}

export interface Button {
  name: string
  value: string
  text: string
  isImage: boolean
  /** The button's own settings, which replace the settings of the form. */
  action?: string
  method?: Form['method']
  enctype?: Enctype
}

export interface Control {
  name: string
  /** The type, as in HTML. For every control that submits the form, the type is `button`. */
  type: string
  /**
   * The values that the control sends if the person changes nothing. The list is empty for a checkbox that is not
   * checked.
   */
  values: string[]
  /** The values that a person can choose. Undefined for a control without choices, such as a text field. */
  choices?: string[]
  button?: Button
}

export type Values = Record<string, string | string[]>
export type Entry = { name: string; value: string; isFile: boolean }

/** `elements`: all elements of the page, in order. `owners`: the form of each element. */
export function readForms(elements: Element[], owners: Map<Element, Element>, url: string, base: string): Form[] {
  const forms = elements.filter(({ tagName }) => tagName === 'form')
  const owned = new Map<Element, Element[]>(forms.map(form => [form, []]))
  for (const element of elements) {
    if (!/^(button|input|select|textarea)$/.test(element.tagName)) continue
    owned.get(ownerOf(element, elements, owners)!)?.push(element)
  }
  return forms.map(form => toForm(form, owned.get(form)!, url, base))
}

function ownerOf(element: Element, elements: Element[], owners: Map<Element, Element>): Element | undefined {
  const id = attribute(element, 'form')
  if (id === undefined) return owners.get(element)
  const named = elements.find(one => attribute(one, 'id') === id)
  return named?.tagName === 'form' ? named : undefined
}

function toForm(form: Element, owned: Element[], url: string, base: string): Form {
  const enabled = owned.filter(element => !isDisabled(element))
  const controls = enabled.flatMap(element =>
    isSubmitButton(element) ? [toControl(readButton(element, url, base))] : readControl(element),
  )
  // If several radio buttons with the same name are checked, the last one counts.
  const chosen = new Map(
    controls.filter(({ type, values }) => type === 'radio' && values.length > 0).map(one => [one.name, one]),
  )
  for (const control of controls)
    if (control.type === 'radio' && chosen.get(control.name) !== control) control.values = []
  return {
    method: readMethod(attribute(form, 'method')) ?? 'GET',
    action: readAction(attribute(form, 'action'), url, base),
    enctype: readEnctype(attribute(form, 'enctype')) ?? 'application/x-www-form-urlencoded',
    fields: controls.flatMap(({ name, values }) => values.map((value): [string, string] => [name, value])),
    buttons: controls.flatMap(({ button }) => button ?? []),
    controls,
  }
}

function toControl(button: Button): Control {
  return { name: button.name, type: 'button', values: [], button }
}

function readControl(element: Element): Control[] {
  const name = attribute(element, 'name') ?? ''
  const value = attribute(element, 'value')
  if (name === '' || element.tagName === 'button') return []
  if (element.tagName === 'textarea') return [{ name, type: 'textarea', values: [rawTextOf(element)] }]
  if (element.tagName === 'select') return [readSelect(element, name)]
  const type = (attribute(element, 'type') ?? 'text').trim().toLowerCase()
  if (type === 'button' || type === 'reset') return []
  if (type === 'checkbox' || type === 'radio') {
    const choice = value ?? 'on'
    return [{ name, type, values: attribute(element, 'checked') === undefined ? [] : [choice], choices: [choice] }]
  }
  if (type === 'file') return [{ name, type, values: [''] }]
  if (type === 'hidden') return [{ name, type, values: [name.toLowerCase() === '_charset_' ? 'UTF-8' : (value ?? '')] }]
  return [{ name, type, values: [sanitize(type, value ?? '')] }]
}

function readSelect(select: Element, name: string): Control {
  const options = elementsOf(select).filter(({ tagName }) => tagName === 'option')
  const open = options.filter(
    option =>
      attribute(option, 'disabled') === undefined &&
      !ancestorsOf(option).some(one => one.tagName === 'optgroup' && attribute(one, 'disabled') !== undefined),
  )
  const sentBy = (option: Element) => attribute(option, 'value') ?? textOf(option)
  const selected = options.filter(option => attribute(option, 'selected') !== undefined)
  const choices = open.map(sentBy)
  if (attribute(select, 'multiple') !== undefined)
    return { name, type: 'select-multiple', values: selected.filter(one => open.includes(one)).map(sentBy), choices }
  const shown = selected.at(-1) ?? (Number(attribute(select, 'size') ?? 1) > 1 ? undefined : open[0])
  return { name, type: 'select-one', values: shown && open.includes(shown) ? [sentBy(shown)] : [], choices }
}

/** Returns the value of a field after the changes that browsers make. For example, they remove line breaks. */
function sanitize(type: string, value: string): string {
  const line = value.replace(/[\r\n]/g, '')
  if (type === 'email' || type === 'url') return line.trim()
  if (type === 'number') return /^-?(\d+|\d*\.\d+)(e[+-]?\d+)?$/i.test(line) ? line : ''
  if (type === 'color') return /^#[\da-f]{6}$/i.test(line) ? line.toLowerCase() : '#000000'
  return line
}

function isSubmitButton(element: Element): boolean {
  const type = (attribute(element, 'type') ?? '').trim().toLowerCase()
  if (element.tagName === 'button') return type !== 'button' && type !== 'reset'
  return element.tagName === 'input' && (type === 'submit' || type === 'image')
}

function readButton(element: Element, url: string, base: string): Button {
  const action = attribute(element, 'formaction')
  const method = readMethod(attribute(element, 'formmethod'))
  const enctype = readEnctype(attribute(element, 'formenctype'))
  const isInput = element.tagName === 'input'
  return {
    name: attribute(element, 'name') ?? '',
    value: attribute(element, 'value') ?? (isInput ? 'Submit' : ''),
    text: isInput ? (attribute(element, 'value') ?? attribute(element, 'alt') ?? 'Submit') : textOf(element),
    isImage: isInput && attribute(element, 'type')?.trim().toLowerCase() === 'image',
    ...(action ? { action: readAction(action, url, base) } : {}),
    ...(method ? { method } : {}),
    ...(enctype ? { enctype } : {}),
  }
}

function isDisabled(element: Element): boolean {
  if (attribute(element, 'disabled') !== undefined) return true
  const around = ancestorsOf(element)
  return around.some((fieldset, index) => {
    if (fieldset.tagName !== 'fieldset' || attribute(fieldset, 'disabled') === undefined) return false
    // Controls in the first legend of a disabled fieldset stay enabled.
    const legend = fieldset.childNodes.find(child => child.nodeName === 'legend')
    return around[index - 1] !== legend || legend === undefined
  })
}

function readMethod(text: string | undefined): Form['method'] | undefined {
  if (text === undefined) return undefined
  return text.trim().toLowerCase() === 'post' ? 'POST' : 'GET'
}

function readEnctype(text: string | undefined): Enctype | undefined {
  if (text === undefined) return undefined
  const known = text.trim().toLowerCase()
  return known === 'multipart/form-data' || known === 'text/plain' ? known : 'application/x-www-form-urlencoded'
}

/** The browser sends a form without an action to the address of the page, and ignores the base element. */
function readAction(action: string | undefined, url: string, base: string): string {
  if (!action) return url
  return URL.canParse(action, base) ? new URL(action, base).href : url
}
