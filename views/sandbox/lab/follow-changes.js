// Follows the changes in the laboratory while the page is visible. live.js and faults.js call this function.
const reconnectMs = 2000

/**
 * Connects to the laboratory, and calls `onChanges` with the data of each event. The laboratory sends a first event
 * after each connection.
 *
 * - `address`: returns the address of the event stream. It is called again for each connection.
 * - `onLost`: called when the connection is lost. The function connects again after two seconds.
 * - `onShown`: called when a hidden page is visible again.
 */
// biome-ignore lint/correctness/noUnusedVariables: live.js and faults.js use this function.
function followChanges({ address, onChanges, onLost = () => {}, onShown = () => {} }) {
  let events
  let reconnection
  let isPaused = false

  function connect() {
    disconnect()
    events = new EventSource(address())
    events.addEventListener('changes', event => onChanges(JSON.parse(event.data)))
    events.addEventListener('error', () => {
      disconnect()
      onLost()
      // After an error such as 503, the browser itself does not connect again.
      reconnection = setTimeout(connect, reconnectMs)
    })
  }

  function disconnect() {
    clearTimeout(reconnection)
    events?.close()
  }

  // A hidden page does not need updates. It closes its connection, so that other pages can connect: a browser opens
  // only six connections to a host.
  document.addEventListener('visibilitychange', () => {
    if (isPaused) return
    if (document.hidden) {
      disconnect()
      return
    }
    connect()
    onShown()
  })
  if (!document.hidden) connect()

  return {
    pause() {
      isPaused = true
      disconnect()
    },
    resume() {
      isPaused = false
      connect()
    },
  }
}
