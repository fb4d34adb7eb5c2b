// Parses a page into a tree, and reads this tree.
import { type DefaultTreeAdapterMap, type DefaultTreeAdapterTypes, defaultTreeAdapter, Parser } from 'parse5'

export type Element = DefaultTreeAdapterTypes.Element
type Node = DefaultTreeAdapterTypes.Node

export interface ParsedPage {
  root: Node
  /** Every element, in the order of the page. */
  elements: Element[]
  /**
   * The form that was open when the parser reached an element. If a form begins inside a table, its fields are not below
   * the form element. In this case, the tree does not show which form a field belongs to.
   */
  owners: Map<Element, Element>
}

/** Parses the page as a browser without scripts does. */
export function parsePage(html: string): ParsedPage {
  const owners = new Map<Element, Element>()
  const parser: Parser<DefaultTreeAdapterMap> = new Parser<DefaultTreeAdapterMap>({
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      createElement(...what) {
        const element = defaultTreeAdapter.createElement(...what)
        if (parser.formElement) owners.set(element, parser.formElement)
        return element
      },
    },
  })
  parser.tokenizer.write(html, true)
  return { root: parser.document, elements: elementsOf(parser.document), owners }
}

/**
 * Yields the node and every node below it, in the order of the page. Leaves out the nodes below an element for which
 * `isLeftOut` is true.
 */
function* nodesFrom(node: Node, isLeftOut: (element: Element) => boolean = () => false): Generator<Node> {
  // A page can have a hundred thousand nested elements, or as many children of one element. A recursive function would
  // overflow the stack. So would a call of push with all children as arguments.
  const rest: Node[] = [node]
  for (let next = rest.pop(); next; next = rest.pop()) {
    yield next
    if ('childNodes' in next && !(isElement(next) && isLeftOut(next)))
      for (const child of next.childNodes.toReversed()) rest.push(child)
  }
}

/** Returns every element below the node, in the order of the page. */
export function elementsOf(node: Node): Element[] {
  const found: Element[] = []
  for (const next of nodesFrom(node)) if (isElement(next) && next !== node) found.push(next)
  return found
}

export function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find(one => one.name === name)?.value
}

/** Returns the elements that contain this element, beginning with its parent. */
export function ancestorsOf(element: Element): Element[] {
  const found: Element[] = []
  for (let parent = element.parentNode; parent && isElement(parent); parent = parent.parentNode) found.push(parent)
  return found
}

/** Returns the text of the element, with one space in place of each sequence of white space. */
export function textOf(element: Element): string {
  return rawTextOf(element)
    .replace(/[\t\n\f\r ]+/g, ' ')
    .trim()
}

export function rawTextOf(element: Element): string {
  return textsIn(element, () => false).join('')
}

/**
 * Returns all text below the node, in the order of the page, without the text in elements for which `isLeftOut` is
 * true.
 */
export function textsIn(node: Node, isLeftOut: (element: Element) => boolean, { withComments = false } = {}): string[] {
  const found: string[] = []
  for (const next of nodesFrom(node, isLeftOut)) {
    if (next.nodeName === '#text') found.push((next as DefaultTreeAdapterTypes.TextNode).value)
    else if (withComments && next.nodeName === '#comment')
      found.push((next as DefaultTreeAdapterTypes.CommentNode).data)
  }
  return found
}

function isElement(node: Node): node is Element {
  return 'tagName' in node
}
