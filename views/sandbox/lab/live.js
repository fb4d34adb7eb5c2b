// Keeps an open page current. What is in use stays as it is: focus, typed text, open details, and the place on the page. Without
// this script, “Reload” does the same.
const bar = document.getElementById('live')
const main = document.getElementById('main')
const statusLine = document.getElementById('live-status')
const newsLine = document.getElementById('live-news')
const pauseButton = document.getElementById('live-pause')
const reloadLink = document.getElementById('live-reload')
const { login: loginId } = bar.dataset

// Each open page loads the sandbox under test, so a busy client must not make it ask without end.
const shortestWaitMs = 1000
const reconnectMs = 2000
// Screen readers hear of news at most this often.
const newsMs = 10_000
/** As many rows as a page has (pages/list.ts). */
const mostRows = 50

/** What the page has heard of. The laboratory says what came after it. */
let after = bar.dataset.after
let events
let reconnection
let isPaused = false
/** What the connection is after: the visitor's pause, or a loss. Undefined once it has told what came meanwhile. */
let interruption

function connect() {
  clearTimeout(reconnection)
  events?.close()
  events = new EventSource(`/live?after=${after}`)
  events.addEventListener('changes', event => hear(JSON.parse(event.data)))
  events.addEventListener('error', () => {
    disconnect()
    interruption ??= 'loss'
    say('Connection lost. Trying again.')
    reconnection = setTimeout(connect, reconnectMs)
  })
}

function disconnect() {
  clearTimeout(reconnection)
  events?.close()
  events = undefined
}

function hear({ changed, dropped, isRestarted, cursor }) {
  after = cursor
  const since = interruption
  interruption = undefined
  const isOurs = loginId ? changed.includes(loginId) : changed.length > 0
  if (isRestarted) {
    say('The sandbox was started again.')
    reloadLink.hidden = false
    return
  }
  const reports = []
  if (since === 'loss') reports.push('Connected again.')
  if (since === 'pause' && !loginId) reports.push(`${inWords(changed.length, 'login')} changed during the pause.`)
  if (dropped > 0) reports.push(`${inWords(dropped, 'login')} came and had to be dropped: there were too many.`)
  say(reports.length > 0 ? `Live. ${reports.join(' ')}` : statusLine.textContent || 'Live')
  // The visitor has just asked for what came during the pause.
  if (!isOurs) return
  if (since === 'pause') load({ showsNew: true })
  else loadSoon()
}

function inWords(count, thing) {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

function say(text) {
  if (statusLine.textContent !== text) statusLine.textContent = text
}

let lastNews = 0
let laterNews
/** Tells screen readers, with the latest text if several come within a short time. */
function tellNews(text) {
  clearTimeout(laterNews)
  const wait = Math.max(0, lastNews + newsMs - Date.now())
  laterNews = setTimeout(() => {
    lastNews = Date.now()
    newsLine.textContent = text
  }, wait)
}

/** Asks for this page again and puts it in place. `showsNew`: also rows that are not on the page yet. */
async function load({ showsNew }) {
  try {
    const response = await fetch(location.href)
    const html = await response.text()
    if (isPaused && !showsNew) return
    if (response.ok) update(new DOMParser().parseFromString(html, 'text/html').getElementById('main'), { showsNew })
    else if (response.status === 404) say('This is no longer kept. The last thousand logins are.')
  } catch {
    // The stream notices that the connection is lost, and asks again.
  }
}

let isWaiting = false
let isStale = false

/** Loads the page now, or once if it was loaded a moment ago. */
async function loadSoon() {
  if (isWaiting) {
    isStale = true
    return
  }
  isWaiting = true
  isStale = false
  const began = performance.now()
  await load({ showsNew: false })
  const waitMs = Math.max(shortestWaitMs, 10 * (performance.now() - began))
  setTimeout(() => {
    isWaiting = false
    if (isStale && !isPaused) loadSoon()
  }, waitMs)
}

function update(next, wish) {
  const known = new Set([...main.querySelectorAll('[id]')].map(({ id }) => id))
  // Counted first, because rows may move from there to this page.
  const newRows = [...next.querySelectorAll('#logins[data-held] > li')].filter(({ id }) => !known.has(id)).length
  const focused = document.activeElement
  patchChildren(main, next, wish)
  // An element that was moved has lost the focus.
  if (focused !== document.activeElement && main.contains(focused)) focused.focus({ preventScroll: true })
  if (loginId) tellNews('This login has a new step.')
  else offerNew(wish.showsNew ? 0 : newRows)
}

/** Says how many logins are new, with a button that shows them. So no row moves by itself. */
function offerNew(count) {
  const offer = document.getElementById('show-new')
  if (!offer) return
  offer.hidden = count === 0
  if (count === 0) return
  offer.firstElementChild.textContent = `${count}${count >= mostRows ? ' or more' : ''} new: show`
  tellNews(inWords(count, 'new login'))
}

// From here on: making one element like another.

/** Elements are the same if they have the same id, or no id and the same name at the same place. */
function patchChildren(old, next, wish) {
  const byId = new Map([...old.children].filter(({ id }) => id).map(child => [child.id, child]))
  let place = old.firstChild
  for (const node of [...next.childNodes]) {
    const isAlike = place && !place.id && !node.id && place.nodeName === node.nodeName
    const same = node.id ? byId.get(node.id) : isAlike ? place : undefined
    if (same === undefined) old.insertBefore(node, place)
    else {
      if (same === place) place = place.nextSibling
      else old.insertBefore(same, place)
      patch(same, node, wish)
    }
  }
  while (place) {
    const rest = place
    place = place.nextSibling
    // What the visitor is in stays until they leave it.
    if (!rest.contains(document.activeElement)) rest.remove()
  }
}

function patch(old, next, wish) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data
    return
  }
  // The script has changed the words of the same time.
  if (old.nodeName === 'TIME') {
    if (old.dateTime !== next.dateTime) old.replaceWith(next)
    return
  }
  if (old.id === 'show-new' || isInUse(old)) return
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name) && name !== 'open') old.removeAttribute(name)
  for (const { name, value } of next.attributes)
    if (name !== 'open' && old.getAttribute(name) !== value) old.setAttribute(name, value)
  if (isHeld(old) && !wish.showsNew) return patchKnown(old, next, wish)
  patchChildren(old, next, wish)
}

/** What the visitor types or chooses is not changed. */
function isInUse(element) {
  if (element.nodeName === 'INPUT' || element.nodeName === 'TEXTAREA') return true
  if (element.nodeName !== 'SELECT') return false
  const original = [...element.options].findIndex(option => option.defaultSelected)
  return element === document.activeElement || element.selectedIndex !== Math.max(0, original)
}

/** A list whose rows would move. That of requests without a client moves nothing while it is closed. */
function isHeld(element) {
  return element.id === 'logins' || (element.id === 'logins-of-nobody' && element.closest('details').open)
}

function patchKnown(old, next, wish) {
  const byId = new Map([...next.children].map(row => [row.id, row]))
  for (const row of [...old.children]) if (byId.has(row.id)) patch(row, byId.get(row.id), wish)
}

// The visitor's own actions.

main.addEventListener('click', async event => {
  if (!event.target.closest('#show-new')) return
  const known = new Set([...main.querySelectorAll('#logins > li')].map(({ id }) => id))
  await load({ showsNew: true })
  const first = [...main.querySelectorAll('#logins > li')].find(({ id }) => !known.has(id))
  // The button has gone, so the focus goes to what it has shown.
  first?.querySelector('a').focus()
})

pauseButton.addEventListener('click', () => {
  isPaused = !isPaused
  pauseButton.textContent = isPaused ? 'Go on' : 'Pause'
  if (isPaused) {
    disconnect()
    say('Paused')
  } else {
    interruption = 'pause'
    say('Live')
    connect()
  }
})

// A page that nobody sees asks for nothing. It also leaves its connection to other pages: browsers have only six for a host.
document.addEventListener('visibilitychange', () => {
  if (isPaused) return
  if (document.hidden) disconnect()
  else connect()
})

pauseButton.hidden = false
reloadLink.hidden = true
if (!document.hidden) connect()
