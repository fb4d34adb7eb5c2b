// Holds an answer of the platform back, for tests of events while a request is under way.
import type { ServerResponse } from 'node:http'
import { type Received, type Script, send } from './scripted-platform.ts'

/** A script that answers only when `goOn` is called; `asked` comes back when it has been asked. */
export function holdAnswer(answer: Script) {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const script = async (request: Received, response: ServerResponse) => {
    asked.resolve()
    await gate.promise
    return typeof answer === 'function' ? answer(request, response) : send(response, answer)
  }
  return { script, asked: asked.promise, goOn: gate.resolve }
}
