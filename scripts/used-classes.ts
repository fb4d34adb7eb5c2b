// Finds the CSS classes that the client's views and scripts use.
import { globSync, readFileSync } from 'node:fs'

export function findUsedClasses(): Set<string> {
  const read = (pattern: string[]) => globSync(pattern).map(path => readFileSync(path, 'utf8'))
  const inViews = read(['views/client/**/*.eta']).flatMap(text =>
    // All words in class="…", including those in template tags.
    [...text.matchAll(/class="((?:<%[\s\S]*?%>|[^"])*)"/g)].flatMap(([, names]) => names!.match(/[\w-]+/g) ?? []),
  )
  const inScripts = read(['views/client/**/*.js']).flatMap(text =>
    // All words in quotes or in a selector. Some of these words are not class names, which does no harm.
    [...text.matchAll(/['"`.]([\w-]+)(?=['"`\s,.:[>)])/g)].map(([, name]) => name!),
  )
  return new Set([...inViews, ...inScripts])
}
