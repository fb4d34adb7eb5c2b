// Adds a button to each password field. The button shows and hides the password. Before the form is sent, the script
// hides the password, so that the browser does not store it as ordinary text.
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
