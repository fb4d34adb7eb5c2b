// Makes the pages more comfortable; every one of them works without it.

// Times as the visitor's own clock has them.
const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
for (const time of document.querySelectorAll('time[datetime]')) {
  time.title = time.textContent
  time.textContent = format.format(new Date(time.dateTime))
}

// A button behind what can be copied, which says so, also to those who only hear the page.
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
      // The browser may refuse; then the keyboard can still copy what is selected.
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

// A button whose form is under way says so. Back may bring the very same page again.
const busy = new Map()
addEventListener('submit', ({ submitter }) => {
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

// What has happened is read first, also in browsers that know autofocus only for fields.
document.querySelector('main [autofocus]')?.focus()
