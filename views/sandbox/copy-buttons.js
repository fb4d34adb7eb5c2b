// Adds a “Copy” button to everything that visitors copy, such as an id or a secret. Without this script, a visitor can
// select a whole id with one click.
const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
// The status line is not the last element, because the style sheet removes the space below the last element of the
// page.
if (navigator.clipboard) document.querySelector('main').prepend(status)

for (const source of navigator.clipboard ? document.querySelectorAll('[data-copy]') : []) {
  const what = source.dataset.copy
  const button = document.createElement('button')
  button.type = 'button'
  // The button next to the main text of the page stands out.
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
