// Makes the pages easier to use. Every page also works without this script.

const { lang } = document.documentElement
const texts = JSON.parse(document.currentScript.dataset.texts)

// Shows times in the visitor's time zone, in the language of the page, and in the format of the visitor's country.
const locale = navigator.languages.find(one => one.split('-')[0] === lang.split('-')[0]) ?? lang
const format = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
for (const time of document.querySelectorAll('time[datetime]')) {
  const exact = format.format(new Date(time.dateTime))
  const spoken = time.querySelector('.unseen')
  if (spoken) {
    // The visible text already says how long ago this time was.
    time.title = exact
    spoken.textContent = ` (${exact})`
  } else {
    time.title = time.textContent
    time.textContent = exact
  }
}

// Adds a button to everything that can be copied. A status line announces the result to screen readers.
const sources = navigator.clipboard ? document.querySelectorAll('[data-copy]') : []
const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
if (sources.length > 0) document.querySelector('main').append(status)
for (const source of sources) {
  const isAll = source.dataset.copy !== ''
  const name = isAll ? '' : (source.dataset.name ?? source.closest('div').querySelector('dt').textContent)
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
      // The browser has refused to copy. The visitor can copy the selection with the keyboard.
      getSelection().selectAllChildren(isAll ? document.querySelector('.secrets') : source)
      button.textContent = texts.selected
      status.textContent = isAll ? texts.notCopiedAll : withName(texts.notCopied)
    }
    setTimeout(() => {
      button.textContent = label
      status.textContent = ''
    }, 4000)
  })
  if (isAll) source.after(button)
  else source.closest('.copyable').append(button)
}

// The visitor chooses the default redirect URI from the redirect URIs in the form. Without this script, the visitor
// types it.
for (const input of document.querySelectorAll('[data-choose-from]')) {
  const source = document.getElementById(input.dataset.chooseFrom)
  const select = document.createElement('select')
  for (const name of ['id', 'name', 'aria-describedby', 'aria-invalid'])
    if (input.hasAttribute(name)) select.setAttribute(name, input.getAttribute(name))
  let chosen = input.value
  const update = () => {
    // If the visitor removes the chosen redirect URI, it stays in the list. The server then asks for another choice.
    const entries = [...new Set([...source.value.split(/[\s,]+/), chosen].filter(Boolean))]
    select.replaceChildren(
      new Option(input.dataset.emptyChoice, ''),
      ...entries.map(entry => new Option(entry, entry, false, entry === chosen)),
    )
  }
  update()
  source.addEventListener('input', update)
  select.addEventListener('change', () => {
    chosen = select.value
  })
  input.replaceWith(select)
}

// Asks before the visitor leaves a form with changes. The script does not store the typed text.
const changedForms = new Set(document.querySelectorAll('form[data-unsaved]'))
addEventListener('input', ({ target }) => {
  const form = target.closest('form[method="post"]')
  if (form) changedForms.add(form)
})
addEventListener('beforeunload', event => {
  if (changedForms.size > 0) event.preventDefault()
})

// After the visitor has sent a form, the form is busy: the visitor cannot send it again before coming back to this
// page. But the visitor can also tell the browser to stop loading. Therefore the form is busy for at most 30 seconds.
// The server answers within 25 seconds.
const busyForms = new Map()
addEventListener('submit', event => {
  const { target: form, submitter, defaultPrevented } = event
  // Another script sends this form, and the page stays open.
  if (defaultPrevented) return
  if (busyForms.has(form)) return event.preventDefault()
  changedForms.delete(form)
  // If another form has changes, the browser asks the visitor, who can then decide to stay on this page.
  if (form.method !== 'post' || changedForms.size > 0) return
  const text = submitter?.textContent
  submitter?.setAttribute('aria-busy', 'true')
  if (submitter?.dataset.busy) submitter.textContent = submitter.dataset.busy
  const release = () => {
    clearTimeout(timer)
    submitter?.removeAttribute('aria-busy')
    if (submitter) submitter.textContent = text
    busyForms.delete(form)
  }
  const timer = setTimeout(release, 30_000)
  busyForms.set(form, release)
  announceWaiting(form)
})
addEventListener('click', event => {
  const link = event.target.closest?.('a[href]')
  const leavesPage =
    link && !event.defaultPrevented && !link.target && !link.download && link.origin === location.origin
  const opensElsewhere = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey
  // If a form has changes, the browser asks the visitor, who can then decide to stay on this page.
  if (leavesPage && !opensElsewhere && !link.hash && changedForms.size === 0)
    announceWaiting(document.querySelector('main').firstElementChild)
})
addEventListener('pageshow', () => {
  for (const release of busyForms.values()) release()
  clearTimeout(waitingTimer)
  waiting.remove()
})

// After three seconds the page says what it is waiting for.
const waiting = document.createElement('p')
waiting.className = 'waiting'
waiting.setAttribute('role', 'status')
let waitingTimer
function announceWaiting(element) {
  clearTimeout(waitingTimer)
  waiting.textContent = ''
  // Some screen readers announce a status line only if it was already on the page when its text changed.
  if (element.matches('form')) element.append(waiting)
  else element.before(waiting)
  waitingTimer = setTimeout(() => {
    waiting.textContent = texts.waiting
  }, 3_000)
}

// Focuses the message about what has happened. Some browsers support autofocus only for fields.
document.querySelector('main [autofocus]')?.focus()
