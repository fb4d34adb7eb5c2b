// Puts a button beside everything worth copying. The pages work without it: ids select as a whole.
const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
// First, because the style sheet gives the last element of the page no space below.
if (navigator.clipboard) document.querySelector('main').prepend(status)

for (const source of navigator.clipboard ? document.querySelectorAll('[data-copy]') : []) {
  const what = source.dataset.copy
  const button = document.createElement('button')
  button.type = 'button'
  // The text that most visitors come for has the button that stands out.
  button.className = 'copyMain' in source.dataset ? 'small copy' : 'quiet small copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-label', `Copy ${what}`)
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      status.textContent = `Copied: ${what}`
      button.textContent = 'Copied'
    } catch {
      getSelection().selectAllChildren(source)
      status.textContent = 'Selected. Copy it with the keyboard.'
      button.textContent = 'Selected'
    }
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2000)
  })
  const block = source.closest('pre')
  if (!block) {
    source.after(button)
    continue
  }
  const bar = document.createElement('span')
  bar.className = 'bar'
  bar.append(source.dataset.kind ?? '', button)
  block.prepend(bar)
}
