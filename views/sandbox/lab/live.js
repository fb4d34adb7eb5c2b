// Updates an open page. The focus, typed text, open details and the scroll position stay as they are. Without this
// script, the visitor reloads the page with “Reload”.
const bar = document.getElementById('live')
const main = document.getElementById('main')
const statusLine = document.getElementById('live-status')
const newsLine = document.getElementById('live-news')
const pauseButton = document.getElementById('live-pause')
const reloadLink = document.getElementById('live-reload')
const { login: loginId } = bar.dataset

// Each open page sends requests to the sandbox under test. Therefore a page waits between two requests, even if many
// logins change.
const shortestWaitMs = 1000
// The shortest time between two announcements to screen readers.
const newsMs = 10_000
/** A login is over if nothing happens for two minutes (explain/login-status.ts). */
const quietMs = 121_000
/** The number of rows on a page (pages/list.ts). */
const mostRows = 50

/** The cursor of the last change that the page knows. The laboratory reports the changes after this cursor. */
let after = bar.dataset.after
let isPaused = false
/**
 * Why the page was not connected: the visitor paused it, or the connection was lost. Becomes undefined when the
 * laboratory has reported the changes that happened during the interruption.
 */
let interruption

function hear({ changed, dropped, isRestarted, cursor }) {
  after = cursor
  const since = interruption
  interruption = undefined
  const isOurs = loginId ? changed.includes(loginId) : changed.length > 0
  if (isRestarted) {
    say('The sandbox was restarted.')
    reloadLink.hidden = false
    return
  }
  const reports = []
  if (since === 'loss') reports.push('Connected again.')
  if (since === 'pause' && !loginId) reports.push(`${inWords(changed.length, 'login')} changed during the pause.`)
  if (dropped > 0) reports.push(`The laboratory did not keep ${inWords(dropped, 'more login')}.`)
  say(reports.length > 0 ? `Live. ${reports.join(' ')}` : statusLine.textContent || 'Live')
  // When the visitor ends a pause, the page also adds new rows at once, because the visitor has just asked for them.
  if (since === 'pause') load({ showsNew: true })
  else if (isOurs) loadSoon()
  if (!isOurs) return
  if (loginId) tellNews('This login has a new step.')
  loadWhenQuiet()
}

function inWords(count, thing) {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

function say(text) {
  if (statusLine.textContent !== text) statusLine.textContent = text
}

let lastNews = 0
let laterNews
/** Announces text to screen readers. If several announcements come within a short time, only the latest is made. */
function tellNews(text) {
  clearTimeout(laterNews)
  const wait = Math.max(0, lastNews + newsMs - Date.now())
  laterNews = setTimeout(() => {
    lastNews = Date.now()
    newsLine.textContent = text
  }, wait)
}

const loginIsGone = 'This login is no longer kept. The laboratory keeps only the last thousand.'

/**
 * Loads this page again, and updates the document. With `showsNew`, the function also adds rows that are not on the
 * page yet.
 */
async function load({ showsNew }) {
  try {
    const response = await fetch(location.href)
    const html = await response.text()
    if (isPaused && !showsNew) return
    if (response.ok) update(new DOMParser().parseFromString(html, 'text/html').getElementById('main'), { showsNew })
    else if (response.status === 404) say(loginId ? loginIsGone : 'The results of this search are no longer kept.')
  } catch {
    // Do nothing: the event stream also notices that the connection is lost, and connects again.
  }
}

let isWaiting = false
let isStale = false

/**
 * Loads the page now, or after a short wait if the page was loaded a moment ago. If several changes arrive during this
 * wait, the page is loaded only once.
 */
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

let quiet
/** A login that nobody continues changes its status without an event, so the page is loaded once more. */
function loadWhenQuiet() {
  clearTimeout(quiet)
  quiet = setTimeout(() => {
    if (!isPaused && !document.hidden) loadSoon()
  }, quietMs)
}

function update(next, wish) {
  // If the list was empty, its first rows are shown at once, because they do not move any other row.
  const isFirstList = !document.getElementById('logins')
  const known = new Set([...main.querySelectorAll('[id]')].map(({ id }) => id))
  // Count the new rows first, because the update can move rows out of `next`.
  const newRows = [...next.querySelectorAll('#logins[data-held] > li')].filter(({ id }) => !known.has(id)).length
  const focused = document.activeElement
  patchChildren(main, next, wish)
  // An element loses the focus when it is moved.
  if (focused !== document.activeElement && main.contains(focused)) focused.focus({ preventScroll: true })
  if (!isFirstList) offerNew(wish.showsNew ? 0 : newRows)
  else if (newRows > 0) tellNews(inWords(newRows, 'new login'))
}

/**
 * Shows a button with the number of new logins. Only this button adds the rows of new logins, so that no row moves by
 * itself.
 */
function offerNew(count) {
  const offer = document.getElementById('show-new')
  if (!offer) return
  offer.hidden = count === 0
  if (count === 0) return
  offer.firstElementChild.textContent = `${count}${count >= mostRows ? ' or more' : ''} new: show`
  tellNews(inWords(count, 'new login'))
}

// The functions below change an element of this page until it equals the same element of the newly loaded page.

/**
 * Two elements count as the same if they have the same id. Elements without an id count as the same if they have the
 * same name and the same place.
 */
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
    // An element that contains the focus stays until the focus leaves it.
    if (!rest.contains(document.activeElement)) rest.remove()
  }
}

function patch(old, next, wish) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data
    return
  }
  // Another script (ages.js) has changed the text of this element, so compare only the time itself.
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

/** True for a field whose text or choice must stay as the visitor has left it. */
function isInUse(element) {
  if (element.nodeName === 'INPUT' || element.nodeName === 'TEXTAREA') return true
  if (element.nodeName !== 'SELECT') return false
  const original = [...element.options].findIndex(option => option.defaultSelected)
  return element === document.activeElement || element.selectedIndex !== Math.max(0, original)
}

/**
 * True for a list in which a new row would move the others. While the list of requests without a client is closed, a
 * new row does not move anything.
 */
function isHeld(element) {
  return element.id === 'logins' || (element.id === 'logins-of-nobody' && element.closest('details').open)
}

function patchKnown(old, next, wish) {
  const byId = new Map([...next.children].map(row => [row.id, row]))
  // If the new page is full, a row that is missing there may have moved to the next page.
  const isComplete = next.children.length < mostRows
  for (const row of [...old.children]) {
    if (byId.has(row.id)) patch(row, byId.get(row.id), wish)
    else if (isComplete && 'filtered' in next.dataset) markAsOther(row)
  }
}

/**
 * Marks a row that no longer matches the filter, or whose login is no longer kept. The row stays in its place, so that
 * no row moves by itself.
 */
function markAsOther(row) {
  row.className = 'open'
  row.querySelector('.outcome').textContent = 'no longer in this list'
}

// The visitor's own actions.

main.addEventListener('click', async event => {
  if (!event.target.closest('#show-new')) return
  const known = new Set([...main.querySelectorAll('#logins > li')].map(({ id }) => id))
  await load({ showsNew: true })
  const first = [...main.querySelectorAll('#logins > li')].find(({ id }) => !known.has(id))
  // The button is hidden now, so the focus goes to the first row that it has added.
  first?.querySelector('a').focus()
})

pauseButton.addEventListener('click', () => {
  isPaused = !isPaused
  pauseButton.textContent = isPaused ? 'Continue' : 'Pause'
  if (isPaused) {
    changes.pause()
    say('Paused')
  } else {
    interruption = 'pause'
    say('Live')
    changes.resume()
  }
})

const changes = followChanges({
  address: () => `/live?after=${after}`,
  onChanges: hear,
  onLost() {
    interruption ??= 'loss'
    say('Connection lost. Trying again.')
  },
  onShown: loadSoon,
})

pauseButton.hidden = false
reloadLink.hidden = true
loadWhenQuiet()
