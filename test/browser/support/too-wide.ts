/** Runs in the page. Returns how many pixels the page is wider than the window. */
export const tooWide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth'
