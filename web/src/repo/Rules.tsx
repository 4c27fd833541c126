/** What is wanted of pushes, branches and merges. */
import { useState } from 'react'
import { fieldsOf } from '../api/problem'
import type { RepoChange, RepoView } from '../api/types'
import { Field, Input, Select } from '../ui/Field'
import { Switch } from '../ui/Switch'
import { t } from '../words/words'
import { useChange, words } from './change'
import { RulesForm } from './RulesForm'

const SHOWN = [
  'check_command',
  'merge',
  'default_branch',
  'branch_format',
  'allow_paths',
  'deny_paths',
  'largest_file_mb',
]

export function Rules({ repo, onSaved }: { repo: RepoView; onSaved(repo: RepoView | undefined): void }) {
  const [draft, setDraft] = useState({
    check: repo.check_command ?? '',
    merge: repo.merge ?? 'squash',
    base: repo.pinned_branch ?? '',
    branch: repo.branch_format ?? '',
    allow: (repo.allow_paths ?? []).join(' '),
    deny: (repo.deny_paths ?? []).join(' '),
    largest: repo.largest_file_mb == null ? '' : String(repo.largest_file_mb),
  })
  const [keeps, setKeeps] = useState(Boolean(repo.keep_branches))
  const [letsSecrets, setLetsSecrets] = useState(Boolean(repo.allow_secrets))
  const save = useChange(repo.name, onSaved)
  const fields = fieldsOf(save.error)
  const largest = draft.largest.trim() === '' ? undefined : Number(draft.largest)
  const wrongSize = largest !== undefined && !(Number.isInteger(largest) && largest >= 1 && largest <= 4096)
  const text = (name: keyof typeof draft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) =>
      setDraft((now) => ({ ...now, [name]: event.target.value })),
  })
  const wish = (): RepoChange | undefined =>
    wrongSize
      ? undefined
      : {
          check_command: draft.check.trim(),
          merge: draft.merge as NonNullable<RepoChange['merge']>,
          ...(draft.base.trim() ? { default_branch: draft.base.trim() } : {}),
          ...(draft.branch.trim() ? { branch_format: draft.branch.trim() } : {}),
          allow_paths: words(draft.allow),
          deny_paths: words(draft.deny),
          ...(largest === undefined ? {} : { largest_file_mb: largest }),
          keep_branches: keeps,
          allow_secrets: letsSecrets,
        }
  return (
    <RulesForm title={t('Pushes and merges')} save={save} shown={SHOWN} wish={wish}>
      <Field
        label={t('Check before a merge')}
        error={fields.check_command}
        hint={t('Runs in a sandbox on the merged result.')}
      >
        {(wiring) => (
          <Input
            {...wiring}
            {...text('check')}
            placeholder={t('nothing is run')}
            className="font-mono text-small"
          />
        )}
      </Field>
      <div className="grid gap-3.5 sm:grid-cols-2">
        <Field label={t('Merge by')} error={fields.merge} className="sm:col-span-2">
          {(wiring) => (
            <Select {...wiring} {...text('merge')}>
              <option value="squash">{t('squash: one commit per task')}</option>
              <option value="merge">{t('merge: a merge commit')}</option>
              <option value="rebase">{t('rebase: its commits, one by one')}</option>
            </Select>
          )}
        </Field>
        <Field label={t('Tasks begin at')} error={fields.default_branch}>
          {(wiring) => (
            <Input
              {...wiring}
              {...text('base')}
              placeholder={repo.default_branch ?? t('main')}
              className="font-mono text-small"
            />
          )}
        </Field>
        <Field label={t('Branches are called')} error={fields.branch_format}>
          {(wiring) => (
            <Input {...wiring} {...text('branch')} placeholder="task-{id}" className="font-mono text-small" />
          )}
        </Field>
        <Field label={t('Paths agents may change')} error={fields.allow_paths}>
          {(wiring) => (
            <Input
              {...wiring}
              {...text('allow')}
              placeholder={t('all of them')}
              className="font-mono text-small"
            />
          )}
        </Field>
        <Field label={t('Paths agents may not change')} error={fields.deny_paths}>
          {(wiring) => (
            <Input
              {...wiring}
              {...text('deny')}
              placeholder={t('.github/** LICENSE')}
              className="font-mono text-small"
            />
          )}
        </Field>
        <Field
          label={t('Largest file, MiB')}
          error={wrongSize ? t('A whole number from 1 to 4096.') : fields.largest_file_mb}
        >
          {(wiring) => <Input {...wiring} {...text('largest')} inputMode="numeric" placeholder="50" />}
        </Field>
      </div>
      <div className="flex flex-col gap-2">
        <Switch isOn={keeps} onChange={setKeeps}>
          {t('Keep branches after a merge')}
        </Switch>
        <Switch isOn={letsSecrets} onChange={setLetsSecrets}>
          {t('Let secrets in pushes by')}
        </Switch>
      </div>
    </RulesForm>
  )
}
