// Which addresses may stand behind a link: http and https, and nothing that a browser would run.
import { isPlainHost } from './plain-host.ts'

/** True for an absolute http or https address without white space. Checked where it comes in, and again where it is shown. */
export function isWebUrl(text: string): boolean {
  // The slashes are asked for, because URL parsers add them; white space, because they drop it.
  return /^https?:\/\/[^\s\\]+$/i.test(text) && URL.canParse(text) && isPlainHost(new URL(text).hostname)
}
