// Makes the pages more comfortable. Every page works without it.

// Shows times in the visitor's time zone.
const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
for (const time of document.querySelectorAll('time[datetime]')) {
  time.title = time.textContent
  time.textContent = format.format(new Date(time.dateTime))
}

// Adds a button to everything that can be copied. A status line tells screen readers the result.
const sources = navigator.clipboard ? document.querySelectorAll('[data-copy]') : []
const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
if (sources.length > 0) document.querySelector('main').append(status)
for (const source of sources) {
  const isAll = source.dataset.copy !== ''
  const name = isAll ? 'all' : source.closest('div').querySelector('dt').textContent
  const button = document.createElement('button')
  const label = isAll ? 'Copy all' : 'Copy'
  button.type = 'button'
  button.className = isAll ? 'quiet' : 'copy'
  button.textContent = label
  button.setAttribute('aria-label', isAll ? label : `Copy: ${name}`)
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.dataset.copy || source.textContent)
      button.textContent = 'Copied'
      status.textContent = `Copied: ${name}`
    } catch {
      // The browser may refuse. The visitor can then copy the selection with the keyboard.
      getSelection().selectAllChildren(isAll ? document.querySelector('.secrets') : source)
      button.textContent = 'Selected'
      status.textContent = `Not copied, but selected: ${name}`
    }
    setTimeout(() => {
      button.textContent = label
      status.textContent = ''
    }, 4000)
  })
  source.after(button)
}

// Asks before the visitor leaves a form with changes. What was typed is not stored in the browser.
let hasChanges = document.querySelector('form[data-unsaved]') !== null
addEventListener('input', ({ target }) => {
  hasChanges ||= target.closest('form[method="post"]') !== null
})
addEventListener('beforeunload', event => {
  if (hasChanges) event.preventDefault()
})

// A button whose form is being sent says so. Back may show the same page again.
const busy = new Map()
addEventListener('submit', ({ submitter }) => {
  hasChanges = false
  if (!submitter || busy.has(submitter)) return
  busy.set(submitter, submitter.textContent)
  submitter.setAttribute('aria-busy', 'true')
  submitter.textContent = submitter.dataset.busy ?? submitter.textContent
})
addEventListener('pageshow', () => {
  for (const [button, text] of busy) {
    button.removeAttribute('aria-busy')
    button.textContent = text
  }
  busy.clear()
})

// Focuses the message about what has happened. Some browsers support autofocus for fields only.
document.querySelector('main [autofocus]')?.focus()
