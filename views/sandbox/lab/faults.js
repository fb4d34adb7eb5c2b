// The page of faults: finds faults while the visitor types, and orders and cancels faults without loading the page
// again. Without this script, the visitor does the same with the forms of the page.
const status = document.getElementById('announced')
const finder = document.getElementById('find-faults')
const pauseMs = 200

function announce(text) {
  // Screen readers announce the same text a second time only if it was removed in between.
  status.textContent = ''
  requestAnimationFrame(() => {
    status.textContent = text
  })
}

/** Sends a request, and resolves to the page in the answer, even if the answer has an error status. */
async function load(url, options) {
  const response = await fetch(url, options)
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  if (!page.getElementById('ordered')) throw new Error('another page')
  return { page, isRefused: !response.ok, url: response.url }
}

function replace(id, page) {
  document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes)
}

let search = new AbortController()
let timer

async function find() {
  search.abort()
  search = new AbortController()
  const url = `/faults?${new URLSearchParams(new FormData(finder))}`
  try {
    const { page } = await load(url, { signal: search.signal })
    replace('catalogue', page)
    replace('ordered', page)
    history.replaceState(null, '', url)
    const found = document.getElementById('found')
    announce(found ? `${found.textContent} found` : 'All faults at one place')
  } catch (error) {
    if (error.name !== 'AbortError') announce('The laboratory does not answer. Try again.')
  }
}

finder.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(find, pauseMs)
})

const busy = new WeakSet()

async function send(form) {
  if (busy.has(form)) return
  busy.add(form)
  try {
    const answer = await load(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) })
    if (form.classList.contains('order')) showOrdered(form, answer)
    else showCancelled(answer)
  } catch {
    announce('The laboratory does not answer. Try again.')
  } finally {
    busy.delete(form)
  }
}

/**
 * Shows the result of an order. If the order was refused, the focus goes to the first wrong field. Otherwise it stays
 * on the button.
 */
function showOrdered(form, { page, isRefused }) {
  const { fault } = form.dataset
  const entry = document.getElementById(`fault-${fault}`)
  const next = page.getElementById(`fault-${fault}`)
  entry.querySelector('.said').replaceWith(next.querySelector('.said'))
  replace('ordered', page)
  for (const problem of form.querySelectorAll('.field-problem')) problem.remove()
  for (const field of form.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid')
    field.setAttribute('aria-describedby', `${field.id}-hint`)
  }
  if (isRefused) {
    const wrong = next.querySelector('[autofocus]')
    wrong?.removeAttribute('autofocus')
    form.replaceWith(next.querySelector('form.order'))
    wrong?.focus()
  }
  const problems = [...entry.querySelectorAll('.field-problem, .said .problem')].map(({ textContent }) =>
    textContent.trim(),
  )
  announce(isRefused ? `The fault was not ordered. ${problems.join(' ')}` : `You have ordered the fault ${fault}.`)
}

/**
 * Shows that a fault was cancelled. Its button no longer exists, so the focus goes to the next button, or to the
 * heading.
 */
function showCancelled({ page }) {
  replace('ordered', page)
  const ordered = document.getElementById('ordered')
  const next = ordered.querySelector('button') ?? ordered.querySelector('h2')
  next.focus()
  announce(ordered.querySelector('.done').textContent)
}

document.addEventListener('submit', event => {
  if (event.target === finder) {
    event.preventDefault()
    find()
  } else if (event.target.matches('form.order, form.cancel')) {
    event.preventDefault()
    send(event.target)
  }
})

/**
 * Shows how many times each fault in the list has happened. While the focus is in the list, the list does not change,
 * because the visitor may be about to cancel a fault.
 */
async function refresh() {
  const ordered = document.getElementById('ordered')
  if (document.hidden || ordered.contains(document.activeElement)) return
  const { page } = await load(`/faults?${new URLSearchParams(new FormData(finder))}`)
  if (!ordered.contains(document.activeElement)) replace('ordered', page)
}

let isWaiting = false
function refreshSoon() {
  if (isWaiting || !document.querySelector('#ordered form.cancel')) return
  isWaiting = true
  // Wait, so that a client with many requests does not make the page load all the time.
  setTimeout(() => {
    isWaiting = false
    refresh().catch(() => {})
  }, 1000)
}

// The laboratory sends a first event after each connection, so the list is also refreshed after an interruption.
followChanges({ address: () => '/live', onChanges: refreshSoon })
