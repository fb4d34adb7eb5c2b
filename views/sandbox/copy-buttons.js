// Puts a button beside everything worth copying. The pages work without it: ids select as a whole.
const status = document.createElement('p')
status.className = 'unseen'
status.setAttribute('role', 'status')
if (navigator.clipboard) document.querySelector('main').append(status)

for (const source of navigator.clipboard ? document.querySelectorAll('[data-copy]') : []) {
  const what = source.dataset.copy
  const button = document.createElement('button')
  button.type = 'button'
  // The first step of a page stands out.
  button.className = 'copyMain' in source.dataset ? 'small copy' : 'quiet small copy'
  // Two buttons below one block of code say what they copy.
  const text = 'copyNamed' in source.dataset ? `Copy ${what}` : 'Copy'
  button.textContent = text
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
      button.textContent = text
    }, 2000)
  })
  const block = source.closest('pre') ?? source
  block.after(button)
}
