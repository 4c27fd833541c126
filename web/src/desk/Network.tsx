/** What this desk may reach, and what it pushed through the gateway. */
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { say } from '../api/problem'
import { pushes } from '../api/queries'
import type { SandboxView } from '../api/types'
import { Button } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { Field, Input } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { Chip, Empty } from '../ui/Small'
import { t } from '../words/words'
import { allowLine, canAllow, useAllow } from './allow'
import { Refused } from './Refused'

const WORDS: Record<string, [string, string]> = {
  none: [t('No network'), t('It reaches the gateway alone: git, and models if its agent has one.')],
  allow: [t('Some hosts'), t('It reaches these hosts through the proxy, and the gateway.')],
  open: [t('Open'), t('It reaches every public host through the proxy.')],
}

export function Network({
  sandbox,
  repo,
  taskId,
}: {
  sandbox: SandboxView | undefined
  repo?: string | null | undefined
  taskId?: number | undefined
}) {
  if (!sandbox)
    return (
      <Empty title={t('No desk')}>
        <p>{t('There is no sandbox now, so there is nothing it could reach.')}</p>
      </Empty>
    )
  const [title, detail] = WORDS[sandbox.network.mode] ?? [sandbox.network.mode, '']
  const { allow: hosts, deny = [], headers = {} } = sandbox.network
  return (
    <section aria-label={t('Network')} className="min-h-0 flex-1 space-y-5 overflow-y-auto p-5">
      <div>
        <h2 className="text-lead">{title}</h2>
        <p className="text-soft">{detail}</p>
        <Hosts label={t('Allowed hosts')} hosts={hosts} />
        {canAllow(sandbox) && <AllowHost sandbox={sandbox} />}
      </div>
      <Refused sandbox={sandbox} />
      {deny.length > 0 && (
        <div>
          <h2 className="text-lead">{t('Not reached')}</h2>
          <Hosts label={t('Denied addresses')} hosts={deny} />
        </div>
      )}
      {Object.keys(headers).length > 0 && (
        <div>
          <h2 className="text-lead">{t('Added on the way out')}</h2>
          <p className="text-soft">{t('By the proxy. What is inside never sees these values.')}</p>
          <ul aria-label={t('Headers by host')} className="mt-3 space-y-1 text-small">
            {Object.entries(headers).map(([host, added]) => (
              <li key={host} className="flex flex-wrap items-center gap-1.5">
                <span className="font-mono">{host}</span>
                {Object.keys(added as object).map((name) => (
                  <Chip key={name}>{name}</Chip>
                ))}
              </li>
            ))}
          </ul>
        </div>
      )}
      {repo && <Pushed repo={repo} sandboxId={sandbox.id} taskId={taskId} />}
    </section>
  )
}

/** A host more, while it works: nothing is started again. */
function AllowHost({ sandbox }: { sandbox: SandboxView }) {
  const [host, setHost] = useState('')
  const wanted = host.trim()
  const allow = useAllow(sandbox)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (wanted) allow.mutate(wanted, { onSuccess: () => setHost('') })
  }
  const command = allowLine(sandbox, wanted || 'HOST')
  return (
    <form noValidate onSubmit={submit} className="mt-4 max-w-md">
      <Field
        label={t('Allow a host')}
        error={allow.isError ? say(allow.error) : undefined}
        hint={t('From now on, for this sandbox alone. *.example.org takes in all names below it.')}
      >
        {(wiring) => (
          <div className="flex gap-2">
            <Input
              {...wiring}
              value={host}
              placeholder={t('example.org')}
              spellCheck={false}
              autoCapitalize="none"
              onChange={(event) => {
                setHost(event.target.value)
                allow.reset()
              }}
              className="font-mono text-small"
            />
            <Button type="submit" disabled={!wanted} isBusy={allow.isPending}>
              {t('Allow')}
            </Button>
          </div>
        )}
      </Field>
      <p className="mt-2 flex items-center gap-1 text-small text-faint">
        <code className="min-w-0 truncate font-mono">{command}</code>
        <Copy text={command} label={t('Copy the command')} />
      </p>
    </form>
  )
}

function Hosts({ label, hosts }: { label: string; hosts: readonly string[] }) {
  if (hosts.length === 0) return null
  return (
    <ul aria-label={label} className="mt-3 flex flex-wrap gap-1.5">
      {hosts.map((host) => (
        <li key={host}>
          <Chip>{host}</Chip>
        </li>
      ))}
    </ul>
  )
}

function Pushed({
  repo,
  sandboxId,
  taskId,
}: {
  repo: string
  sandboxId: string
  taskId: number | undefined
}) {
  const all = useQuery(pushes(repo)).data
  const own = all?.filter(
    (push) => push.sandbox_id === sandboxId || (taskId !== undefined && push.task_id === taskId),
  )
  return (
    <div>
      <h2 className="text-lead">{t('Pushes')}</h2>
      {own?.length === 0 && <p className="text-soft">{t('Nothing was pushed from here yet.')}</p>}
      <ul className="divide-y divide-line">
        {own?.map((push) => (
          <li key={push.id} className="py-2">
            <p className="flex items-center gap-2">
              <Chip tone={push.accepted ? 'lamp' : 'bad'}>
                {push.accepted ? t('accepted') : t('refused')}
              </Chip>
              <span className="min-w-0 flex-1 truncate font-mono text-small">
                {push.refs.map((it) => it.name.replace('refs/heads/', '')).join(', ')}
              </span>
              <span className="text-small text-faint">
                <Ago at={push.at} />
              </span>
            </p>
            {push.refusal && <p className="mt-1 text-small text-oxblood wrap-anywhere">{push.refusal}</p>}
          </li>
        ))}
      </ul>
    </div>
  )
}
