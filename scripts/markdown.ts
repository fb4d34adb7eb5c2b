// Code and tables in Markdown, for the scripts that write documents.

export function code(text: string): string {
  return `\`${text}\``
}

export function toRow(cells: string[]): string {
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}
