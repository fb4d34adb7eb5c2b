// The domain code uses these notes to describe a request: its user, its client, its grant, and the result of each
// check.
import type { FastifyRequest } from 'fastify'
import { noteAbout, noteCheck } from './observe.ts'
import type { About, Check } from './steps.ts'

export interface StepNotes {
  about(about: About): void
  /** Returns whether the check passed. */
  check(check: Check): boolean
}

export function stepNotesOf(request: FastifyRequest): StepNotes {
  return { about: about => noteAbout(request, about), check: check => noteCheck(request, check) }
}
