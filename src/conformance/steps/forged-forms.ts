// Forms that another site sends with the cookies of a signed-in visitor.
import type { Form } from '../browser/form.ts'
import type { CheckContext } from '../context.ts'
import { forge } from './create-form.ts'

/**
 * The forms that an attacker can send: one without the hidden fields, and one with the hidden fields of the attacker's
 * own form.
 */
export function forgeriesOf(form: Form, attackers: Form | undefined): Form[] {
  const hidden = new Set(form.controls.filter(({ type }) => type === 'hidden').map(({ name }) => name))
  const bare = { ...form, fields: form.fields.filter(([name]) => !hidden.has(name)) }
  return attackers ? [bare, forge(attackers, form)] : [bare]
}

/**
 * The headers that browsers send if the form is on another site, or on another port of the same host. Old browsers send
 * Origin but no Sec-Fetch headers, and the oldest browsers send neither.
 */
export function foreignFormHeaders({ settings }: CheckContext): Record<string, string>[] {
  const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  return [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', ...navigation },
    {
      origin: `${new URL(settings.client).protocol}//${new URL(settings.client).hostname}:1`,
      'sec-fetch-site': 'same-site',
      ...navigation,
    },
    { origin: 'https://evil.example' },
    { origin: `${settings.client}.evil.example` },
    { origin: 'null' },
    {},
  ]
}
