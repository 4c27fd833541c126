/** Patterns of commands as people write them: one on each line, for a command has spaces in it. */
import type { components } from '../api/schema'

export type CommandRules = components['schemas']['CommandRules']

export const lines = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((it) => it.trim())
      .filter(Boolean),
  ),
]

export interface CommandDraft {
  allow: string
  deny: string
}

export const draftOf = (rules: CommandRules | null | undefined): CommandDraft => ({
  allow: (rules?.allow ?? []).join('\n'),
  deny: (rules?.deny ?? []).join('\n'),
})

/** An empty list lifts a rule. */
export const rulesOf = (draft: CommandDraft): { allow: string[]; deny: string[] } => ({
  allow: lines(draft.allow),
  deny: lines(draft.deny),
})
