/** Runs in the page. Returns by how many pixels the page is wider than the window. */
export const tooWide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth'
