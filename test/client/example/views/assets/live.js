// The script of the live page. It uses fetch, EventSource, and the codes of the errors.
const find = id => document.getElementById(id)

/**
 * Returns true if the call succeeded, false if the call can be tried again, and undefined if the visitor has to sign
 * in.
 */
async function call(path, options) {
  try {
    const response = await fetch(path, options)
    if (response.ok) {
      find('status').textContent = ''
      return true
    }
    const { error } = await response.json()
    if (error.code === 'sign_in_required') {
      find('ended').hidden = false
      return undefined
    }
    find('status').textContent = error.message
  } catch {
    find('status').textContent = find('status').dataset.unreachable
  }
  return false
}

function listen() {
  const events = new EventSource('/notes/events')
  events.onmessage = ({ data }) => {
    const items = JSON.parse(data).map(note => {
      const item = document.createElement('li')
      item.textContent = note
      return item
    })
    find('notes').replaceChildren(...items)
  }
  events.onerror = async () => {
    // After a lost connection the browser tries again by itself. After an error status the browser gives up, and the
    // script does not get the status. So the script sends a request with fetch, to get the status.
    if (events.readyState !== EventSource.CLOSED) return
    if ((await call('/notes.json')) !== undefined) setTimeout(listen, 5000)
  }
}
listen()

find('add').addEventListener('submit', async event => {
  event.preventDefault()
  const form = event.target
  const body = JSON.stringify({ note: form.note.value })
  if (await call('/notes.json', { method: 'POST', headers: { 'content-type': 'application/json' }, body })) form.reset()
})

find('import').addEventListener('submit', async event => {
  event.preventDefault()
  const form = event.target
  if (await call('/notes/import', { method: 'POST', body: new FormData(form) })) form.reset()
})
