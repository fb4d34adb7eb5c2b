// Updates times such as “2 minutes ago” while a page is open, and adds the exact time in the visitor's time zone.
// pages/age.ts uses the same words.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const relativeTime = new Intl.RelativeTimeFormat('en')
const units = [
  [24 * 3600, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
]

function showAges() {
  for (const time of document.querySelectorAll('time[data-age]')) {
    const at = new Date(time.dateTime)
    const seconds = Math.floor((Date.now() - at) / 1000)
    const [size, unit] = units.find(([size]) => seconds >= size) ?? []
    const words = size === undefined ? 'just now' : relativeTime.format(-Math.floor(seconds / size), unit)
    if (time.textContent !== words) time.textContent = words
    time.title = exact.format(at)
  }
}

showAges()
setInterval(showAges, 10_000)
// Also update times that are added to the page later.
new MutationObserver(showAges).observe(document.getElementById('main'), { childList: true, subtree: true })
