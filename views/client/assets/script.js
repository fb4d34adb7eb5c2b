// Makes the pages more comfortable; every one of them works without it.

// Times as the visitor's own clock has them.
const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
for (const time of document.querySelectorAll('time[datetime]')) {
  time.title = time.textContent
  time.textContent = format.format(new Date(time.dateTime))
}

// A button that copies what stands before it, and says so, also to those who only hear the page.
const sources = navigator.clipboard ? document.querySelectorAll('[data-copy]') : []
const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
if (sources.length > 0) document.querySelector('main').append(status)
for (const source of sources) {
  const name = source.closest('div').querySelector('dt').textContent
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', `Copy: ${name}`)
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      button.textContent = 'Copied'
      status.textContent = `Copied: ${name}`
    } catch {
      // The browser may refuse; then the keyboard can still copy what is marked.
      getSelection().selectAllChildren(source)
      button.textContent = 'Marked'
      status.textContent = `Not copied, but marked: ${name}`
    }
    setTimeout(() => {
      button.textContent = 'Copy'
      status.textContent = ''
    }, 4000)
  })
  source.after(button)
}

// What went wrong is read first.
document.getElementById('problem')?.focus()
