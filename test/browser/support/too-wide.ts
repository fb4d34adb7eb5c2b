/** This code runs in the page. It returns by how many pixels the page is wider than the window. */
export const tooWide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth'
