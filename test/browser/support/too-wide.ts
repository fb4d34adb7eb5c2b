/** Runs in the page: how many pixels it is wider than the window. */
export const tooWide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth'
