// Removes rules from a style sheet: the rules for classes that the starter's views and scripts do not use.
import { findUsedClasses } from '../used-classes.ts'

/** Call this after the files have been removed. The result is still formatted as the project's formatter demands. */
export function pruneStyle(css: string): string {
  const used = findUsedClasses()
  const isUsed = (selector: string) => [...selector.matchAll(/\.([a-z][\w-]*)/g)].every(([, name]) => used.has(name!))
  return (
    css
      // An optional comment, the selectors, and the declarations. The expression finds innermost blocks, because only
      // these contain no braces.
      .replace(
        /^([ \t]*\/\*[^*]*\*\/\n)?([ \t]*)([^\s{}@/][^{}@/]*?) \{[^{}]*\}\n+/gm,
        (rule, comment = '', indent, selectors) => {
          const all = selectors.split(/,\s*/)
          const kept = all.filter(isUsed)
          if (kept.length === all.length) return rule
          if (kept.length === 0) return ''
          return rule.replace(`${comment}${indent}${selectors}`, `${comment}${indent}${kept.join(`,\n${indent}`)}`)
        },
      )
      .replace(/^@media[^{}]*\{\s*\}\n+/gm, '')
      // If the last rule of a block was removed, an empty line is left before the closing brace.
      .replace(/\n\n+(?=[ \t]*\}\n)/g, '\n')
      .replace(/\n*$/, '\n')
  )
}
