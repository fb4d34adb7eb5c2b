// The report for programs.
import type { Report } from './report.ts'

/** `{"suite": version, "client": …, "checks": [{"id", "title", "level", "verdict", "why", "mend", "evidence": […], …}]}` */
export function toJson({ version, client, startedAt, durationMs, command, results }: Report): string {
  const checks = results.map(({ id, group, title, level, verdict, why, mend, reason, evidence, durationMs }) => ({
    id,
    group,
    title,
    level,
    verdict,
    why,
    mend,
    reason,
    evidence,
    durationMs,
    again: `${command} --only '^${id}$'`,
  }))
  return `${JSON.stringify({ suite: version, client, startedAt, durationMs, checks }, null, 2)}\n`
}
