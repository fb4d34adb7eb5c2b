// Builds the small client with one mistake or without a mistake.
import type { Server } from 'node:http'
import { correct } from './behaviour.ts'
import { buildClient } from './client.ts'
import { httpsMistakes } from './https-mistakes.ts'
import { mistakes } from './mistakes.ts'
import type { Settings } from './visit.ts'

/** Returns a server that does not listen yet. Throws if no mistake has this name. */
export function buildFaultyClient(settings: Settings, name?: string): Server {
  const found = [...mistakes, ...httpsMistakes].find(mistake => mistake.name === name)
  if (name && !found)
    throw new Error(`There is no mistake ${name}. There are: ${mistakes.map(each => each.name).join(', ')}`)
  return buildClient(settings, { ...correct, ...found?.change })
}
