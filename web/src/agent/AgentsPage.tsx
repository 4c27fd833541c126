/** The agents: named ways to run a coding agent. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { say } from '../api/problem'
import { keys } from '../api/queries'
import type { Agent } from '../task/types'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Chip, Command, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { AgentDialog, removeAgent } from './AgentDialog'
import { AgentMark } from './AgentMark'
import { DIALECTS } from './dialects'
import { agents } from './queries'

export function AgentsPage() {
  const list = useQuery(agents)
  const [isAdding, setAdding] = useState(false)
  useShortcuts({
    n: (event) => {
      event.preventDefault()
      setAdding(true)
    },
  })
  return (
    <>
      <title>{t('Agents · Carrel')}</title>
      <PageHead
        title={t('Agents')}
        lead={t('Who sits at the desks. None of them ever holds a key of yours.')}
      >
        <Button tone="primary" icon={<Plus />} onClick={() => setAdding(true)}>
          {t('Add agent')}
        </Button>
      </PageHead>
      {list.isPending && <Skeleton className="h-32 rounded-2xl" />}
      {list.isError && !list.data && (
        <Trouble title={t('The agents could not be listed')} detail={say(list.error)} />
      )}
      {list.data?.length === 0 && (
        <Empty title={t('Nobody is hired yet')}>
          <p>
            {t(
              'An agent is a name for a program that writes code: a coding agent, or a plain shell command.',
            )}
          </p>
          <Command>carrel agent add claude --dialect claude</Command>
        </Empty>
      )}
      <ul aria-label={t('Agents')} className="grid grid-cols-1 gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {list.data?.map((agent) => (
          <AgentCard key={agent.name} agent={agent} />
        ))}
      </ul>
      <AgentDialog isOpen={isAdding} onClose={() => setAdding(false)} />
    </>
  )
}

function AgentCard({ agent }: { agent: Agent }) {
  const cache = useQueryClient()
  const [isChanging, setChanging] = useState(false)
  const remove = useMutation({
    mutationFn: () => removeAgent(agent.name),
    onSuccess: () => cache.invalidateQueries({ queryKey: keys.agents }),
    onError: (error) => toast(t('{name} was not removed', { name: agent.name }), say(error), 'bad'),
  })
  return (
    <li
      data-agent={agent.name}
      className="flex flex-col gap-3 rounded-2xl border border-line bg-card p-4 shadow-card"
    >
      <div className="flex items-center gap-3">
        <AgentMark name={agent.name} isLarge />
        <div className="min-w-0 flex-1">
          <h2 className="truncate text-lead">{agent.name}</h2>
          <p className="truncate text-small text-faint">
            {agent.about || DIALECTS[agent.dialect] || agent.dialect}
          </p>
        </div>
        {agent.dialect !== agent.name && <Chip>{agent.dialect}</Chip>}
      </div>
      {agent.command && (
        <code className="line-clamp-3 rounded-lg bg-well px-2.5 py-1.5 font-mono text-small text-soft wrap-anywhere">
          {agent.command}
        </code>
      )}
      {agent.found === false && (
        <p className="text-small text-brass wrap-anywhere">
          {agent.hint ?? t('Its program is not installed on this host.')}
        </p>
      )}
      <div className="mt-auto flex flex-wrap items-center gap-2">
        <Chip tone={agent.found === false ? 'plain' : 'lamp'}>
          {agent.found === false ? t('not installed') : t('ready')}
        </Chip>
        {agent.model && <Chip tone="brass">{agent.model}</Chip>}
        {agent.at_once != null && <Chip>{t('{n} at once', { n: agent.at_once })}</Chip>}
        <span className="ml-auto flex">
          <IconButton label={t('Change {name}', { name: agent.name })} onClick={() => setChanging(true)}>
            <Pencil />
          </IconButton>
          {agent.built_in === false && (
            <Confirm
              title={t('Remove {name}?', { name: agent.name })}
              detail={t('Tasks that it works on go on; new ones cannot ask for it.')}
              act={t('Remove')}
              onConfirm={() => remove.mutate()}
            >
              <IconButton label={t('Remove {name}', { name: agent.name })}>
                <Trash2 />
              </IconButton>
            </Confirm>
          )}
        </span>
      </div>
      <AgentDialog agent={agent} isOpen={isChanging} onClose={() => setChanging(false)} />
    </li>
  )
}
