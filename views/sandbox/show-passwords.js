// A button beside each password that shows what was typed. It is hidden again before the form is sent, so that the
// browser does not keep it as an ordinary text.
for (const input of document.querySelectorAll('input[type="password"]')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet small show'
  const verb = document.createTextNode('')
  const object = document.createElement('span')
  object.className = 'unseen'
  object.textContent = ' password'
  button.append(verb, object)
  const show = isShown => {
    input.type = isShown ? 'text' : 'password'
    verb.textContent = isShown ? 'Hide' : 'Show'
  }
  show(false)
  button.addEventListener('click', () => show(input.type === 'password'))
  input.form.addEventListener('submit', () => show(false))
  input.after(button)
}
