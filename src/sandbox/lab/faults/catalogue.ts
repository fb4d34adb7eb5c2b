// The catalogue of all faults, keyed by name. A fault is described by data: a place, a kind, a time (before or after
// the platform acts) and options.
import { apiKindsAt } from './api-kinds.ts'
import { connectionKinds, large } from './connection-kinds.ts'
import { adviceFor } from './good-client.ts'
import type { Kind, Kinds, Options, Preset, When } from './kind.ts'
import { metadataKinds } from './metadata-kinds.ts'
import { type Place, type PlaceWords, places } from './places.ts'
import { redirectKinds } from './redirect-kinds.ts'
import { statusKinds } from './status-kinds.ts'
import { tokenKinds } from './token-kinds.ts'

export interface Fault {
  /**
   * `<place>-<kind or preset>`. If a fault kind is possible both before and after the platform acts, the catalogue has
   * two faults of this kind. The fault that happens after the platform acts has a name that ends with `-after`.
   */
  name: string
  place: Place
  kind: string
  when: When
  /** What happens, in one sentence. */
  does: string
  /** What a good client does after the fault, in one or two short sentences. */
  goodClient: string
  /** The options that the name already sets, such as the status in `exchange-503`. */
  fixed: Record<string, unknown>
  /** The options that an order can set. */
  options: Options
  needsConnection: NonNullable<Kind['needsConnection']>
  run: Kind['run']
}

export function kindsAt(place: Place): Kinds {
  const { dialect, listener }: PlaceWords = places[place]
  if (place === 'redirect') return redirectKinds
  return {
    ...connectionKinds,
    ...statusKinds(dialect),
    ...(listener === 'api' && apiKindsAt(place)),
    ...(place === 'metadata' && metadataKinds),
    ...((place === 'exchange' || place === 'refresh') && { ...tokenKinds, large }),
    ...(place === 'me' && { large }),
  }
}

/**
 * Returns the presets of a kind, each with its name. The first preset has the name of the kind, and does not set any
 * option.
 */
export function presetsOf(name: string, { does, presets }: Kind): [name: string, Preset][] {
  return [[name, { does, fixed: {} }], ...Object.entries(presets ?? {})]
}

function faultsAt(place: Place): Fault[] {
  const { isWrite }: PlaceWords = places[place]
  return Object.entries(kindsAt(place)).flatMap(([kind, definition]) =>
    presetsOf(kind, definition).flatMap(([shortName, { does, fixed, when = definition.when }]) => {
      const times = isWrite ? when : when.slice(0, 1)
      const options = Object.entries(definition.options ?? {}).filter(([name]) => !Object.hasOwn(fixed, name))
      return times.map(time => ({
        name: `${place}-${shortName}${times.length > 1 && time === 'after' ? '-after' : ''}`,
        place,
        kind,
        when: time,
        does,
        goodClient: adviceFor({ place, kind, when: time, fixed }),
        fixed,
        options: Object.fromEntries(options),
        needsConnection: definition.needsConnection ?? (() => false),
        run: definition.run,
      }))
    }),
  )
}

export const catalogue: ReadonlyMap<string, Fault> = new Map(
  (Object.keys(places) as Place[]).flatMap(faultsAt).map(fault => [fault.name, fault]),
)

/**
 * Describes a fault of the catalogue as JSON. The field `acted` always equals `when`. It is kept because programs read
 * it.
 */
export function describeFault({ name, place, kind, when, does, goodClient, fixed, options }: Fault) {
  return {
    fault: name,
    place,
    kind,
    when,
    does: `${capitalized(places[place].about)}: ${does}`,
    goodClient,
    acted: when,
    fixed,
    options: Object.fromEntries(
      Object.entries(options).map(([name, { about, allowed, schema, unit, default: usual }]) => [
        name,
        { about, allowed, schema, unit: unit ?? null, default: usual ?? null },
      ]),
    ),
  }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns at most three names that are similar to the wrong name, the most similar first. */
export function nearestNames(wrong: string, names: Iterable<string>): string[] {
  // A caller may send a name of 64 KB, and comparing long strings takes time.
  const text = wrong.slice(0, 60)
  return [...names]
    .map(name => ({ name, edits: countEdits(text, name) }))
    .filter(({ edits }) => edits <= text.length / 2)
    .sort((one, other) => one.edits - other.edits)
    .slice(0, 3)
    .map(({ name }) => name)
}

/**
 * Returns how many characters must be added, removed or replaced to turn one string into the other (Levenshtein
 * distance).
 */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1]
    for (let column = 0; column < to.length; column++)
      next.push(Math.min(row[column + 1]! + 1, next[column]! + 1, row[column]! + (character === to[column] ? 0 : 1)))
    row = next
  }
  return row[to.length]!
}
