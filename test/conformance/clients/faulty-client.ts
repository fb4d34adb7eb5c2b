// Builds the small client with one fault or without a fault.
import type { Server } from 'node:http'
import { buildClient } from './client.ts'
import { faults } from './faults/faults.ts'
import { httpsFaults } from './faults/https.ts'
import { right } from './parts.ts'
import type { Settings } from './visit.ts'

/** Returns a server that does not listen yet. Throws if no fault has this name. */
export function buildFaultyClient(settings: Settings, name?: string): Server {
  const found = [...faults, ...httpsFaults].find(fault => fault.name === name)
  if (name && !found)
    throw new Error(`There is no fault ${name}. There are: ${faults.map(each => each.name).join(', ')}`)
  return buildClient(settings, { ...right, ...found?.parts })
}
