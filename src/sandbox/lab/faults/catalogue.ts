// Every fault by name: places, and what can go wrong there.
import { apiMishapsOf } from './api-answer.ts'
import type { Acted, Mishap, Mishaps } from './mishap.ts'
import { type Place, type PlaceWords, places } from './places.ts'
import { redirectMishaps } from './redirect-back.ts'
import { statusMishaps } from './statuses.ts'
import { tokenMishaps } from './token-answer.ts'
import { wireMishaps } from './wire.ts'

export interface Fault {
  name: string
  place: Place
  acted: Acted
  mishap: Mishap
}

/** What can go wrong at a place. */
export function mishapsOf(place: Place): Mishaps {
  const { dialect, listener }: PlaceWords = places[place]
  if (place === 'redirect') return redirectMishaps
  return {
    ...wireMishaps,
    ...statusMishaps(dialect),
    ...(listener === 'api' && apiMishapsOf(place)),
    ...((place === 'exchange' || place === 'refresh') && tokenMishaps),
  }
}

/** `<place>-<mishap>`; where a mishap is there before and after the platform has acted, `-after` ends the name of the latter. */
function faultsOf(place: Place): Fault[] {
  const { isWrite }: PlaceWords = places[place]
  return Object.entries(mishapsOf(place)).flatMap(([name, mishap]) => {
    const acted = isWrite ? mishap.acted : mishap.acted.slice(0, 1)
    return acted.map(one => ({
      name: `${place}-${name}${acted.length > 1 && one === 'after' ? '-after' : ''}`,
      place,
      acted: one,
      mishap,
    }))
  })
}

export const catalogue: ReadonlyMap<string, Fault> = new Map(
  (Object.keys(places) as Place[]).flatMap(faultsOf).map(fault => [fault.name, fault]),
)

/** As the catalogue is told. */
export function tellFault({ name, place, acted, mishap }: Fault) {
  return {
    fault: name,
    place,
    does: `${capitalized(places[place].about)}: ${mishap.does}`,
    acted,
    options: Object.fromEntries(
      Object.entries(mishap.options ?? {}).map(([name, { about, allowed, default: usual }]) => [
        name,
        { about, allowed, default: usual ?? null },
      ]),
    ),
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
