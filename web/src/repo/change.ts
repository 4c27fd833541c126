/** Changes what is wanted of a repository. */
import { useMutation } from '@tanstack/react-query'
import { api, ask } from '../api/client'
import type { RepoChange, RepoView } from '../api/types'
import { toast } from '../ui/Toast'
import { t } from '../words/words'

export function useChange(name: string, onSaved: (repo: RepoView | undefined) => void) {
  return useMutation({
    mutationFn: (body: RepoChange) =>
      ask(api.PATCH('/api/v1/repos/{name}', { params: { path: { name } }, body })),
    onSuccess: (answer) => {
      onSaved(answer as RepoView | undefined)
      toast(t('The rules are kept'))
    },
  })
}

/** Words that stand apart by spaces or commas. */
export const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

/** Labels may have spaces in them: only commas tell them apart. */
export const phrases = (text: string): string[] =>
  text
    .split(',')
    .map((it) => it.trim())
    .filter(Boolean)
