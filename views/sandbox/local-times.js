// Shows times by the visitor's own clock; without it they are in UTC, and say so.
const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

function localise() {
  for (const time of document.querySelectorAll('time[datetime]:not([title])')) {
    time.title = time.textContent
    // “PM” stays in the line of its hour.
    time.textContent = format.format(new Date(time.dateTime)).replace(/\s(?=[AP]M$)/, '\u00a0')
  }
}

localise()
// Also what comes onto the page later.
new MutationObserver(localise).observe(document.getElementById('main'), { childList: true, subtree: true })
