// Shows times in the visitor's time zone. Without this script, the page shows times in UTC, and says so.
const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

function localise() {
  for (const time of document.querySelectorAll('time[datetime]:not([title])')) {
    time.title = time.textContent
    // Do not break the line between the time and “PM”.
    time.textContent = format.format(new Date(time.dateTime)).replace(/\s(?=[AP]M$)/, '\u00a0')
  }
}

localise()
// Also convert times that are added to the page later.
new MutationObserver(localise).observe(document.getElementById('main'), { childList: true, subtree: true })
