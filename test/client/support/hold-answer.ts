// Delays an answer from the platform until the test allows it. In the meantime, the test can do something while a
// request is open.
import type { ServerResponse } from 'node:http'
import { type Received, type Script, send } from './scripted-platform.ts'

/**
 * Returns a script that answers only after the test has called `release`. `asked` resolves when the platform gets the
 * request.
 */
export function holdAnswer(answer: Script) {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const script = async (request: Received, response: ServerResponse) => {
    asked.resolve()
    await gate.promise
    return typeof answer === 'function' ? answer(request, response) : send(response, answer)
  }
  return { script, asked: asked.promise, release: gate.resolve }
}
