// The few questions that are asked of a parsed page.
import type { DefaultTreeAdapterTypes } from 'parse5'

export type Element = DefaultTreeAdapterTypes.Element
type Node = DefaultTreeAdapterTypes.Node

/** Every element below, in the order of the page. */
export function elementsOf(node: Node): Element[] {
  const found: Element[] = []
  // A page of a hundred thousand nested elements must not end the process: no recursion.
  const rest: Node[] = [node]
  for (let next = rest.pop(); next; next = rest.pop()) {
    if (isElement(next) && next !== node) found.push(next)
    if ('childNodes' in next) rest.push(...next.childNodes.toReversed())
  }
  return found
}

export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find(one => one.name === name)?.value
}

/** The elements around it, the nearest one first. */
export function ancestorsOf(element: Element): Element[] {
  const found: Element[] = []
  for (let parent = element.parentNode; parent && isElement(parent); parent = parent.parentNode) found.push(parent)
  return found
}

/** Its text, with each run of white space as one space. */
export function textOf(element: Element): string {
  return rawTextOf(element)
    .replace(/[\t\n\f\r ]+/g, ' ')
    .trim()
}

export function rawTextOf(element: Element): string {
  let text = ''
  const rest: Node[] = [element]
  for (let next = rest.pop(); next; next = rest.pop()) {
    if (next.nodeName === '#text') text += (next as DefaultTreeAdapterTypes.TextNode).value
    if ('childNodes' in next) rest.push(...next.childNodes.toReversed())
  }
  return text
}

function isElement(node: Node): node is Element {
  return 'tagName' in node
}
