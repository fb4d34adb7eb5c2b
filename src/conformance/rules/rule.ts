// The type of a rule, and short functions to write a rule.

/**
 * MUST: the platform, an RFC or a decision of this project requires the rule. A client that breaks it fails. SHOULD:
 * the platform, an RFC, a decision of this project or OWASP ASVS 5.0 recommends the rule. Advice: no document requires
 * the rule, but it has been useful in practice.
 */
export type Level = 'MUST' | 'SHOULD' | 'advice'

export interface Rule {
  level: Level
  /**
   * `platform`: the specification of the platform contains the rule. `decision`: this project has decided the rule,
   * because the specification says nothing about it.
   */
  source: 'platform' | 'decision' | 'experience' | 'ASVS 5.0' | `RFC ${number}`
  /** The section of an RFC, or the requirement of ASVS. */
  section?: string
  /** The rule in our own words. */
  sentence: string
  /** Exact words of the RFC or of ASVS, if a check is based on them. */
  quote?: string
}

export function platform(sentence: string): Rule {
  return { level: 'MUST', source: 'platform', sentence }
}

export function decision(sentence: string): Rule {
  return { level: 'MUST', source: 'decision', sentence }
}

export function rfc(number: number, section: string, sentence: string, quote?: string): Rule {
  return { level: 'MUST', source: `RFC ${number}`, section, sentence, ...(quote && { quote }) }
}

export function asvs(section: string, sentence: string, quote?: string): Rule {
  return { level: 'SHOULD', source: 'ASVS 5.0', section, sentence, ...(quote && { quote }) }
}

export function should(rule: Rule): Rule {
  return { ...rule, level: 'SHOULD' }
}

export function advice(sentence: string): Rule {
  return { level: 'advice', source: 'experience', sentence }
}
