// Orders and removes faults. The laboratory accepts only JSON, so a form without this script cannot do that.
const clientOf = element => element.closest('[data-client]').dataset.client

async function send(method, path, body) {
  const response = await fetch(`/lab/v1/faults${path}`, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  if (response.ok) return location.reload()
  const { message } = (await response.json()).error
  showProblem(
    typeof message === 'string'
      ? message
      : Object.entries(message)
          .map(([field, [text]]) => `${field}: ${text}`)
          .join(' '),
  )
}

function showProblem(text) {
  document.getElementById('fault-problem').textContent = text
}

document.addEventListener('click', event => {
  const button = event.target.closest('[data-order], [data-remove]')
  if (!button) return
  const { order, remove } = button.dataset
  if (remove) send('DELETE', `/${remove}`)
  else send('POST', '', { fault: order, clientId: clientOf(button) })
})

document.addEventListener('submit', event => {
  if (event.target.id !== 'order-fault') return
  event.preventDefault()
  const { fault, skip, times, options } = event.target.elements
  try {
    const numbers = { skip: Number(skip.value), times: Number(times.value) }
    send('POST', '', {
      fault: fault.value,
      clientId: clientOf(event.target),
      ...numbers,
      options: JSON.parse(options.value),
    })
  } catch {
    showProblem('The options must be JSON, such as {"seconds":2}.')
  }
})
