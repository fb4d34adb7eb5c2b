/** This code runs in the page. It returns how many pixels wider the page is than the window. */
export const tooWide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth'
