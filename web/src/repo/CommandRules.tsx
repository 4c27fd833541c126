/** What may be run at the desks of a repository when somebody asks for it. */
import { useState } from 'react'
import { fieldsOf } from '../api/problem'
import type { RepoView } from '../api/types'
import { CommandFields } from '../rule/CommandFields'
import { draftOf, rulesOf } from '../rule/patterns'
import { t } from '../words/words'
import { useChange } from './change'
import { RulesForm } from './RulesForm'

const SHOWN = ['commands.allow', 'commands.deny']

export function CommandRules({
  repo,
  onSaved,
}: {
  repo: RepoView
  onSaved(repo: RepoView | undefined): void
}) {
  const [draft, setDraft] = useState(draftOf(repo.commands))
  const save = useChange(repo.name, onSaved)
  return (
    <RulesForm title={t('Commands')} save={save} shown={SHOWN} wish={() => ({ commands: rulesOf(draft) })}>
      <p className="text-small text-soft">
        {t(
          'For what is asked for from outside: terminals, the API, tools. What an agent runs by itself is kept in by its sandbox.',
        )}
      </p>
      <CommandFields draft={draft} onChange={setDraft} wrong={fieldsOf(save.error)} />
    </RulesForm>
  )
}
