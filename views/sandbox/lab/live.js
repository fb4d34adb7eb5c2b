// Shows what comes in as it comes in. Without it, a reload does the same.
const live = document.getElementById('live')
const main = document.getElementById('main')
const loginId = location.pathname.startsWith('/logins/') ? location.pathname.slice('/logins/'.length) : undefined
// Each open page loads the sandbox under test, so a busy client must not make it reload without end.
const pauseMs = 1000
let isBusy = false
let isStale = false

async function refresh() {
  if (isBusy) {
    isStale = true
    return
  }
  isBusy = true
  isStale = false
  try {
    const response = await fetch(location.href)
    if (response.ok) show(await response.text())
  } finally {
    setTimeout(() => {
      isBusy = false
      if (isStale) refresh()
    }, pauseMs)
  }
}

// Open details stay open, and the focus stays where it is: nothing in use is replaced.
function show(html) {
  if (main.contains(document.activeElement) && document.activeElement !== main) return
  const open = [...main.querySelectorAll('details')].map(details => details.open)
  const next = new DOMParser().parseFromString(html, 'text/html').getElementById('main')
  next.querySelectorAll('details').forEach((details, index) => {
    details.open = open[index] ?? false
  })
  main.replaceChildren(...next.childNodes)
}

const events = new EventSource('/lab/v1/events')
events.addEventListener('open', () => {
  live.textContent = 'Live'
})
events.addEventListener('error', () => {
  live.textContent = 'Not connected: reload to see more.'
})
events.addEventListener('step', event => {
  const { login } = JSON.parse(event.data)
  if (!loginId || login.id === loginId) refresh()
})
