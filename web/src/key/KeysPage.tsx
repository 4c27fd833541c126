/** Keys: who may come in. Secrets are shown once, when they are made. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus, RotateCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { api, ask } from '../api/client'
import { say } from '../api/problem'
import { keys, mintedKeys } from '../api/queries'
import type { KeyView, Minted } from '../api/types'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { cx } from '../ui/cx'
import { Ago } from '../ui/Moments'
import { Chip, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { rich, t } from '../words/words'
import { NewKeyDialog } from './NewKeyDialog'
import { SecretDialog } from './SecretDialog'

export function KeysPage() {
  const cache = useQueryClient()
  const list = useQuery(mintedKeys)
  const [isCreating, setCreating] = useState(false)
  const [minted, setMinted] = useState<Minted>()

  const refresh = () => void cache.invalidateQueries({ queryKey: keys.keys })
  const rotate = useMutation({
    mutationFn: (key: KeyView) =>
      ask(api.POST('/api/v1/keys/{id}/rotate', { params: { path: { id: key.id } } })),
    onSuccess: setMinted,
    onError: (error, key) => toast(t('{name} was not rotated', { name: key.name }), say(error), 'bad'),
    onSettled: refresh,
  })
  const revoke = useMutation({
    mutationFn: (key: KeyView) => ask(api.DELETE('/api/v1/keys/{id}', { params: { path: { id: key.id } } })),
    onSuccess: (_answer, key) => toast(t('{name} is revoked', { name: key.name })),
    onError: (error, key) => toast(t('{name} was not revoked', { name: key.name }), say(error), 'bad'),
    onSettled: refresh,
  })

  return (
    <>
      <title>{t('Keys · Carrel')}</title>
      <PageHead
        title={t('Keys')}
        lead={t('Who may come in, and as what. A secret is shown once; Carrel keeps only its hash.')}
      >
        <Button tone="primary" icon={<Plus />} onClick={() => setCreating(true)}>
          {t('New key')}
        </Button>
      </PageHead>

      {list.isPending && <Skeleton className="h-48 w-full" />}
      {list.isError && <Trouble title={t('The keys could not be listed')} detail={say(list.error)} />}
      {list.data?.length === 0 && (
        <Empty title={t('No keys yet')}>
          <p>{t('Make one for each script, person or agent, so that each can be taken back alone.')}</p>
        </Empty>
      )}
      {list.data && list.data.length > 0 && (
        <ul
          aria-label={t('Keys')}
          className="divide-y divide-line overflow-hidden rounded-2xl border border-line bg-card shadow-card"
        >
          {list.data.map((key) => (
            <li key={key.id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
              <KeyRound
                aria-hidden
                className={cx('size-4', key.revoked_at ? 'text-line-strong' : 'text-brass')}
              />
              <div className="min-w-40 flex-1">
                <p className="flex flex-wrap items-center gap-2 font-medium">
                  <span className={cx('wrap-anywhere', key.revoked_at && 'text-faint line-through')}>
                    {key.name}
                  </span>
                  <Chip tone={key.role === 'admin' ? 'lamp' : 'plain'}>{key.role}</Chip>
                  {key.revoked_at && <Chip tone="bad">{t('revoked')}</Chip>}
                </p>
                <p className="text-small text-faint">
                  <span className="font-mono">{key.prefix}…</span>
                  {key.agent_id && t(' · agent {agent_id}', { agent_id: key.agent_id })}
                  {key.sandbox_id && t(' · sandbox {sandbox_id}', { sandbox_id: key.sandbox_id })}
                </p>
              </div>
              <p className="text-small text-soft">
                {key.last_used_at
                  ? rich('used {ago}', { ago: <Ago at={key.last_used_at} /> })
                  : t('never used')}
                <span className="text-faint">
                  {' '}
                  {rich('· made {ago}', { ago: <Ago at={key.created_at} /> })}
                </span>
              </p>
              {!key.revoked_at && (
                <div className="ml-auto flex">
                  <Confirm
                    title={t('Rotate {name}?', { name: key.name })}
                    detail={t('It gets a new secret, and the old one stops working.')}
                    act={t('Rotate')}
                    onConfirm={() => rotate.mutate(key)}
                  >
                    <IconButton label={t('Rotate {name}', { name: key.name })}>
                      <RotateCw />
                    </IconButton>
                  </Confirm>
                  <Confirm
                    title={t('Revoke {name}?', { name: key.name })}
                    detail={t('Whoever holds it is turned away from now on. This cannot be undone.')}
                    act={t('Revoke')}
                    onConfirm={() => revoke.mutate(key)}
                  >
                    <IconButton
                      label={t('Revoke {name}', { name: key.name })}
                      className="hover:bg-oxblood-wash hover:text-oxblood"
                    >
                      <Trash2 />
                    </IconButton>
                  </Confirm>
                </div>
              )}
            </li>
          ))}
        </ul>
      )}

      <NewKeyDialog
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        onMinted={(key) => {
          setCreating(false)
          setMinted(key)
          refresh()
        }}
      />
      <SecretDialog minted={minted} onClose={() => setMinted(undefined)} />
    </>
  )
}
