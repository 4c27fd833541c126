/** Secrets: set here, used by the gateway, never shown again and never inside a sandbox. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { LockKeyhole, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { beside, fieldsOf, say } from '../api/problem'
import { keys, repos, secrets } from '../api/queries'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, Select } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { Chip, Command, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { rich, t } from '../words/words'
import { SettingsFrame } from './SettingsFrame'

/** Names that the house knows what to do with. */
const KNOWN = ['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'GITHUB_TOKEN', 'E2B_API_KEY']

export function SecretsPage() {
  const list = useQuery(secrets)
  const cache = useQueryClient()
  const [isSetting, setSetting] = useState(false)
  const remove = useMutation({
    mutationFn: (secret: { name: string; repo?: string | null | undefined }) =>
      ask(
        api.DELETE('/api/v1/secrets/{name}', {
          params: { path: { name: secret.name }, query: secret.repo ? { repo: secret.repo } : {} },
        } as never),
      ),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.secrets }),
    onError: (error) => toast(t('The secret was not removed'), say(error), 'bad'),
  })
  return (
    <SettingsFrame>
      <title>{t('Secrets · Carrel')}</title>
      <PageHead
        title={t('Secrets')}
        lead={t('Added outside the sandboxes, by the gateway. Nobody can read them again.')}
      >
        <Button tone="primary" icon={<Plus />} onClick={() => setSetting(true)}>
          {t('Set a secret')}
        </Button>
      </PageHead>
      {list.isPending && <Skeleton className="h-24 rounded-2xl" />}
      {list.isError && !list.data && (
        <Trouble title={t('The secrets could not be listed')} detail={say(list.error)} />
      )}
      {list.data?.length === 0 && (
        <Empty title={t('Nothing is locked away')}>
          <p>{t('Agents that talk to a model need its key here. Everything else works without.')}</p>
          <Command>carrel secret set ANTHROPIC_API_KEY</Command>
        </Empty>
      )}
      {list.data && list.data.length > 0 && (
        <ul
          aria-label={t('Secrets')}
          className="divide-y divide-line rounded-2xl border border-line bg-card shadow-card"
        >
          {list.data.map((secret) => (
            <li key={`${secret.repo ?? ''}/${secret.name}`} className="flex items-center gap-3 px-4 py-3">
              <LockKeyhole aria-hidden className="size-4 text-brass" />
              <span className="font-mono text-small wrap-anywhere">{secret.name}</span>
              {secret.repo && <Chip>{secret.repo}</Chip>}
              <span className="ml-auto text-small text-faint">
                {rich('set {ago}', { ago: <Ago at={secret.updated_at} /> })}
              </span>
              <Confirm
                title={t('Remove {name}?', { name: secret.name })}
                detail={t('What needs it stops working until it is set again.')}
                act={t('Remove')}
                onConfirm={() => remove.mutate(secret)}
              >
                <IconButton label={t('Remove {name}', { name: secret.name })}>
                  <Trash2 />
                </IconButton>
              </Confirm>
            </li>
          ))}
        </ul>
      )}
      <Dialog
        isOpen={isSetting}
        onClose={() => setSetting(false)}
        title={t('Set a secret')}
        lead={t('It is encrypted at rest, and never printed.')}
      >
        <SecretForm onDone={() => setSetting(false)} />
      </Dialog>
    </SettingsFrame>
  )
}

function SecretForm({ onDone }: { onDone(): void }) {
  const cache = useQueryClient()
  const shelf = useQuery(repos).data ?? []
  const [name, setName] = useState('')
  const [value, setValue] = useState('')
  const [repo, setRepo] = useState('')
  const set = useMutation({
    mutationFn: () =>
      ask(api.POST('/api/v1/secrets', { body: { name: name.trim(), value, ...(repo ? { repo } : {}) } })),
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.secrets })
      onDone()
    },
  })
  const fields = fieldsOf(set.error)
  return (
    <DialogForm
      act={t('Set')}
      failed={t('The secret was not set')}
      why={beside(set.error, ['name', 'value', 'repo'])}
      isBusy={set.isPending}
      canAct={Boolean(name.trim() && value)}
      onAct={() => set.mutate()}
    >
      <div className="space-y-4">
        <Field label={t('Name')} error={fields.name}>
          {(wiring) => (
            <>
              <Input
                {...wiring}
                autoFocus
                list="known-secrets"
                placeholder={t('ANTHROPIC_API_KEY')}
                value={name}
                onChange={(event) => setName(event.target.value)}
                className="font-mono text-small"
              />
              <datalist id="known-secrets">
                {KNOWN.map((it) => (
                  <option key={it} value={it} />
                ))}
              </datalist>
            </>
          )}
        </Field>
        <Field label={t('Value')} error={fields.value}>
          {(wiring) => (
            <Input
              {...wiring}
              type="password"
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
        <Field label={t('For')} error={fields.repo}>
          {(wiring) => (
            <Select {...wiring} value={repo} onChange={(event) => setRepo(event.target.value)}>
              <option value="">{t('the whole house')}</option>
              {shelf.map((it) => (
                <option key={it.name} value={it.name}>
                  {it.name}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
    </DialogForm>
  )
}
