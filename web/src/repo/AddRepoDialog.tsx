/** A repository from anywhere, without a terminal: an address, a path of the server, or a new one that lives here. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { beside, Refusal } from '../api/problem'
import { keys } from '../api/queries'
import type { NewRepo, RepoView } from '../api/types'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input } from '../ui/Field'
import { Segments } from '../ui/Segments'
import { t } from '../words/words'

export function AddRepoDialog({
  isOpen,
  onClose,
  onAdded,
}: {
  isOpen: boolean
  onClose(): void
  onAdded?(repo: RepoView): void
}) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={t('Add a repository')}
      lead={t('Carrel keeps a mirror of it. Your own checkout is never touched.')}
    >
      <AddRepoForm
        onDone={(repo) => {
          onAdded?.(repo)
          onClose()
        }}
      />
    </Dialog>
  )
}

type Kind = 'from' | 'new'

export function useAddRepo(onDone: (repo: RepoView) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (body: NewRepo) => ask(api.POST('/api/v1/repos', { body })),
    onSuccess: (repo) => {
      cache.setQueryData<RepoView[]>(keys.repos, (list) =>
        list && !list.some((it) => it.name === repo.name) ? [repo, ...list] : list,
      )
      onDone(repo)
    },
  })
}

function AddRepoForm({ onDone }: { onDone(repo: RepoView): void }) {
  const [kind, setKind] = useState<Kind>('from')
  const [source, setSource] = useState('')
  const [name, setName] = useState('')
  const [check, setCheck] = useState('')
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const add = useAddRepo(onDone)

  const submit = () => {
    const wrong: Record<string, string> = {}
    if (kind === 'from' && !source.trim()) wrong.source = t('Write an address, a path, or github:owner/name.')
    if (kind === 'new' && !name.trim()) wrong.name = t('Give it a name.')
    setErrors(wrong)
    if (Object.keys(wrong).length > 0) return
    add.mutate(
      {
        ...(kind === 'from' ? { source: source.trim() } : { new: true }),
        ...(name.trim() ? { name: name.trim() } : {}),
        ...(check.trim() ? { check_command: check.trim() } : {}),
      },
      { onError: (error) => error instanceof Refusal && setErrors(error.fields) },
    )
  }

  return (
    <DialogForm
      act={add.isPending ? t('Adding…') : t('Add repository')}
      failed={t('The repository was not added')}
      why={beside(add.error, ['source', 'name', 'check_command'])}
      isBusy={add.isPending}
      onAct={submit}
    >
      <div className="mb-4 w-fit">
        <Segments<Kind>
          label={t('Where from')}
          value={kind}
          options={[
            { value: 'from', label: t('From somewhere') },
            { value: 'new', label: t('New, hosted here') },
          ]}
          onChange={setKind}
        />
      </div>
      <div className="space-y-4">
        {kind === 'from' && (
          <Field
            label={t('Address or path')}
            error={errors.source}
            hint={t('https://…, ssh://…, github:owner/name, or a folder on the machine Carrel runs on.')}
          >
            {(wiring) => (
              <Input
                {...wiring}
                autoFocus
                placeholder={t('https://github.com/acme/api')}
                value={source}
                onChange={(event) => setSource(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field
          label={t('Name')}
          error={errors.name}
          hint={kind === 'from' ? t('From the address when left empty.') : undefined}
        >
          {(wiring) => (
            <Input
              {...wiring}
              placeholder={t('api')}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field
          label={t('Check')}
          error={errors.check_command}
          hint={t('Run on the merged result before the base moves. Empty: nothing is run.')}
        >
          {(wiring) => (
            <Input
              {...wiring}
              placeholder={t('make test')}
              value={check}
              onChange={(event) => setCheck(event.target.value)}
              className="font-mono text-small"
            />
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
