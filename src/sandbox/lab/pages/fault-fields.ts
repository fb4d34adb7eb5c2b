// The form of a fault: a field for each option, made from the JSON Schema of the option. Also converts a sent form into
// an order.
import type { FieldProblems } from '../../observe/refusal.ts'
import { parseJson } from '../../values/parse-json.ts'
import type { Fault } from '../faults/catalogue.ts'
import type { Option, OptionSchema } from '../faults/kind.ts'
import { mostTimes, usualCounts } from '../faults/read-order.ts'

/** The fields of a form, as the browser sent them. */
export type Sent = Record<string, string>

interface FaultField {
  name: string
  id: string
  label: string
  hint: string
  type: FieldType
  value: string
  isRequired: boolean
  problem: string | undefined
  min?: number | undefined
  max?: number | undefined
  maxLength?: number | undefined
  step?: 1 | 'any'
  unit?: string | undefined
  choices?: string[] | undefined
}

type FieldType = 'number' | 'choice' | 'text' | 'long-text' | 'headers' | 'json'

/** Returns the fields of the fault's form. Without `sent`, the fields have their defaults. */
export function formFieldsOf({ name: fault, options }: Fault, sent?: Sent, problems: FieldProblems = {}): FaultField[] {
  const own = Object.entries(options).map(([name, option]) => optionField(fault, name, option, sent, problems))
  return [
    ...own,
    {
      ...counter('skip', {
        label: 'Requests that pass first',
        hint: 'How many matching requests pass before the fault happens.',
        min: 0,
      }),
      id: `${fault}-skip`,
      value: sent?.skip ?? String(usualCounts.skip),
      problem: problems.skip?.[0],
    },
    {
      ...counter('times', { label: 'How often', hint: 'How many times the fault happens.', min: 1 }),
      id: `${fault}-times`,
      value: sent?.times ?? String(usualCounts.times),
      problem: problems.times?.[0],
    },
  ]
}

function counter(name: string, { label, hint, min }: { label: string; hint: string; min: number }) {
  return { name, label, hint, type: 'number', isRequired: true, min, max: mostTimes, step: 1 } as const
}

function optionField(
  fault: string,
  name: string,
  option: Option,
  sent: Sent | undefined,
  problems: FieldProblems,
): FaultField {
  const { schema, about, unit } = option
  const type = typeOf(schema)
  const usual = option.default === undefined ? '' : String(option.default)
  return {
    name: `options.${name}`,
    id: `${fault}-${name}`,
    label: inWords(name),
    hint: [about, hints[type]].filter(Boolean).join(' '),
    type,
    value: sent?.[`options.${name}`] ?? usual,
    isRequired: option.isRequired ?? false,
    problem: problems[`options.${name}`]?.[0],
    min: schema.minimum,
    max: schema.maximum,
    maxLength: type === 'text' || type === 'long-text' ? schema.maxLength : undefined,
    step: schema.type === 'integer' ? 1 : 'any',
    unit: unit === name ? undefined : unit,
    choices: schema.enum?.map(String),
  }
}

/** An option that allows a longer text than this gets a field with several lines. */
const longestLine = 200

function typeOf(schema: OptionSchema): FieldType {
  if (schema.enum) return 'choice'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  if (schema.type === 'string') return (schema.maxLength ?? Infinity) > longestLine ? 'long-text' : 'text'
  if (schema.anyOf) return 'text'
  return schema.additionalProperties?.type === 'string' ? 'headers' : 'json'
}

const hints: Partial<Record<FieldType, string>> = {
  headers: 'One header on each line, such as Cache-Control: no-store.',
  json: 'JSON, such as "text", 5, null or {"name":"value"}.',
}

function inWords(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/**
 * Converts a sent form into an order. If this function cannot read a value, it puts an invalid value into the order.
 * The check of the order then refuses this value and names its field.
 */
export function readForm(fault: Fault | undefined, sent: Sent): Record<string, unknown> {
  const { clientId, skip, times, always } = sent
  // Requests for the metadata and the keys do not name a client.
  const isForAll = fault?.place === 'metadata' || fault?.place === 'keys'
  const given = Object.entries(fault?.options ?? {}).flatMap(([name, option]) => {
    const text = sent[`options.${name}`]
    return text === undefined || isLeftOut(text, option) ? [] : [[name, readOption(text, option)]]
  })
  return {
    fault: sent.fault ?? '',
    ...(clientId && !isForAll && { clientId }),
    skip: toNumber(skip ?? String(usualCounts.skip)),
    times: always ? 'always' : toNumber(times ?? String(usualCounts.times)),
    options: Object.fromEntries(given),
  }
}

/**
 * Whether the field leaves its option out. An empty field leaves the option out, with one exception: if the option is a
 * string with a default, an empty field means the empty string.
 */
function isLeftOut(text: string, { schema, default: usual }: Option): boolean {
  return text === '' && !(schema.type === 'string' && usual !== undefined)
}

function readOption(text: string, { schema }: Option): unknown {
  switch (typeOf(schema)) {
    case 'number':
      return toNumber(text)
    case 'choice':
      return schema.enum?.find(value => String(value) === text) ?? text
    case 'headers':
      return readHeaders(text)
    case 'json':
      return parseJson(text)
    default:
      // Browsers send the line breaks of a form as CRLF.
      return text.replaceAll('\r\n', '\n')
  }
}

function toNumber(text: string): unknown {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}

function readHeaders(text: string): unknown {
  const lines = text.split(/\r?\n/).filter(line => line.trim() !== '')
  const pairs = lines.map(line => /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line)?.slice(1) as [string, string] | undefined)
  return pairs.includes(undefined) ? undefined : Object.fromEntries(pairs as [string, string][])
}
