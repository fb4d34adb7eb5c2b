// Reads a Dockerfile, and splits it into its stages.
import { readFileSync } from 'node:fs'

export type Instruction = { name: string; text: string }
export type Stage = { name: string; base: string; instructions: Instruction[] }

/** `beforeStages` contains the ARG instructions before the first FROM. */
export function readDockerfile(path: string): { beforeStages: Instruction[]; stages: Stage[] } {
  const lines = readFileSync(path, 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
  const beforeStages: Instruction[] = []
  const stages: Stage[] = []
  for (const line of lines.filter(line => line.trim())) {
    const [, name = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') {
      const [base = '', , stage = ''] = text.split(/\s+/)
      stages.push({ name: stage, base, instructions: [] })
    } else (stages.at(-1)?.instructions ?? beforeStages).push({ name, text })
  }
  return { beforeStages, stages }
}

/** Returns the instructions of a target. The instructions of its base stages come first. */
export function instructionsOf(stages: Stage[], target: string): Instruction[] {
  const stage = stages.find(({ name }) => name === target)
  return stage ? [...instructionsOf(stages, stage.base), ...stage.instructions] : []
}
