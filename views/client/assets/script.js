// Makes the pages more comfortable. Every page works without it.

const { lang } = document.documentElement
const texts = JSON.parse(document.currentScript.dataset.texts)

// Shows times in the visitor's time zone, and in the language of the page as the visitor's country writes it.
const locale = navigator.languages.find(one => one.split('-')[0] === lang.split('-')[0]) ?? lang
const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
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
  const name = isAll ? '' : source.closest('div').querySelector('dt').textContent
  const withName = text => text.replace('{name}', () => name)
  const button = document.createElement('button')
  const label = isAll ? texts.copyAll : texts.button
  button.type = 'button'
  button.className = isAll ? 'quiet' : 'copy'
  button.textContent = label
  button.setAttribute('aria-label', isAll ? label : withName(texts.copyOne))
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.dataset.copy || source.textContent)
      button.textContent = texts.done
      status.textContent = isAll ? texts.copiedAll : withName(texts.copied)
    } catch {
      // The browser may refuse. The visitor can then copy the selection with the keyboard.
      getSelection().selectAllChildren(isAll ? document.querySelector('.secrets') : source)
      button.textContent = texts.selected
      status.textContent = isAll ? texts.notCopiedAll : withName(texts.notCopied)
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
addEventListener('submit', ({ submitter, defaultPrevented }) => {
  // A script sends the form and stays on the page.
  if (defaultPrevented) return
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
