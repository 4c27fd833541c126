/** Some rules of a repository, kept together: what is asked, one button, and why they were not kept. */
import type { FormEvent, ReactNode } from 'react'
import { beside } from '../api/problem'
import type { RepoChange } from '../api/types'
import { Button } from '../ui/Button'
import { Box, Trouble } from '../ui/Small'
import { t } from '../words/words'
import type { useChange } from './change'

interface RulesFormProps {
  title: string
  save: ReturnType<typeof useChange>
  /** The fields that say themselves what is wrong with them. */
  shown: readonly string[]
  /** What is wanted; nothing while something is wrong. */
  wish(): RepoChange | undefined
  children: ReactNode
}

export function RulesForm({ title, save, shown, wish, children }: RulesFormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const wanted = wish()
    if (wanted) save.mutate(wanted)
  }
  const why = beside(save.error, shown)
  return (
    <Box title={title}>
      <form noValidate onSubmit={submit} className="space-y-3.5">
        {children}
        <div className="flex justify-end">
          <Button type="submit" isBusy={save.isPending}>
            {t('Save')}
          </Button>
        </div>
        {why && <Trouble title={t('The rules were not kept')} detail={why} />}
      </form>
    </Box>
  )
}
