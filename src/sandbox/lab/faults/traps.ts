// Traps: the addresses to which a redirect fault leads. A client that arrives at a trap has followed the redirect.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { step } from '../../observe/observe.ts'
import { BoundedMap } from '../../values/bounded-map.ts'
import { parseJson } from '../../values/parse-json.ts'
import type { StepFault } from '../record/recorded.ts'
import { type OrderedFault, stepFaultOf } from './orders.ts'

const mostTraps = 1000

export type Traps = ReturnType<typeof createTraps>

export function createTraps() {
  /** The fault of each trap, keyed by the id of the trap. */
  const faults = new BoundedMap<string, OrderedFault>(mostTraps)

  return {
    set(ordered: OrderedFault): { id: string; path: string } {
      const id = randomUUID()
      faults.set(id, ordered)
      return { id, path: `/trap/${id}` }
    },

    /** Adds the traps to a listener. `noteTrap` is called for every request that arrives at a trap. */
    addTo(server: FastifyInstance, noteTrap: (request: FastifyRequest, fault: StepFault) => void): void {
      server.register(async scope => {
        scope.removeAllContentTypeParsers()
        scope.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) =>
          done(null, readBody(`${body}`)),
        )
        const spring = async (request: FastifyRequest, reply: FastifyReply) => {
          const { id } = request.params as { id: string }
          const ordered = faults.get(id)
          if (!ordered) return reply.code(404).send(errorBody('There is nothing at this address.'))
          noteTrap(request, { ...stepFaultOf(ordered), trap: id })
          return reply
            .code(400)
            .send(errorBody('This address is a trap. Only a client that follows a redirect gets here.'))
        }
        scope.all('/trap/:id', step('page'), spring)
      })
    },
  }
}

function errorBody(description: string) {
  return { error: 'invalid_request', error_description: description }
}

/** Reads the body as JSON. If the body is not JSON, reads it as a form. */
function readBody(body: string): unknown {
  const json = parseJson(body)
  return json === undefined ? Object.fromEntries(new URLSearchParams(body)) : json
}
