// Text that becomes markup if a page does not escape it.

export const hostileTexts: Record<string, string> = {
  'an image with a handler': '<img src=x onerror=alert(1)>',
  'the end of an attribute': '"><svg onload=alert(1)>',
  'the end of an attribute in apostrophes': "' autofocus onfocus='alert(1)",
  'the end of a title': '</title><script>alert(1)</script>',
  'the end of a text field': '</textarea><script>alert(1)</script>',
  'the tags of templates': '{{191*211}} $' + '{191*211} <%= 191*211 %>',
  entities: '&lt;b&gt; &amp; &#39;',
  'separators of lines': 'line\u2028paragraph\u2029end',
  'a change of the writing direction': '\u202egnp.exe',
  'a comment': '<!-- --><![CDATA[ ]]>',
}

/** Returns the markup of a page without its text. Hostile text must not change the markup. */
export const markupOf = (body: string) => body.replace(/"[^"]*"/g, '""').match(/<[^>]*>/g)
