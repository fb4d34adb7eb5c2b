// Stylesheets, scripts and icons. The files are read once for all servers of the process. A file's address contains a
// hash, so the address changes when the content changes.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder with the templates, stylesheets and scripts of the pages. */
export const viewsFolder = fileURLToPath(new URL('../../../views/sandbox', import.meta.url))

export interface Asset {
  /** The name that templates use. */
  name: string
  /** The path at which the sandbox serves the file. */
  path: string
  type: string
  content: Buffer
}

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** `file` is a path below views/sandbox, or the absolute path of a file in a package. */
export function readAsset(file: string): Asset {
  const content = readFileSync(resolve(viewsFolder, file))
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  const extension = extname(file)
  const path = `/assets/${basename(file, extension)}-${hash}${extension}`
  return { name: isAbsolute(file) ? basename(file) : file, path, type: types[extension]!, content }
}
