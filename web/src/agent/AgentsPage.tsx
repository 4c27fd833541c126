/** The agents: named ways to run a coding agent. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { callJson } from '../api/call'
import { beside, fieldsOf, say } from '../api/problem'
import { keys } from '../api/queries'
import type { Agent } from '../task/types'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, Select } from '../ui/Field'
import { Chip, Command, Empty, PageHead, Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
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
      <Dialog
        isOpen={isAdding}
        onClose={() => setAdding(false)}
        title={t('Add an agent')}
        lead={t('How to start it. Access to models comes from the gateway.')}
      >
        <AgentForm onDone={() => setAdding(false)} />
      </Dialog>
    </>
  )
}

function AgentCard({ agent }: { agent: Agent }) {
  const cache = useQueryClient()
  const remove = useMutation({
    mutationFn: () => callJson(`/api/v1/agents/${encodeURIComponent(agent.name)}`, { method: 'DELETE' }),
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
        <Chip>{agent.dialect}</Chip>
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
        {agent.built_in === false && (
          <span className="ml-auto">
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
          </span>
        )}
      </div>
    </li>
  )
}

/** Adds an agent and remembers it. */
export function useAddAgent(onDone: (agent: Agent) => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (body: Partial<Agent>) => callJson<Agent>('/api/v1/agents', { method: 'POST', body }),
    onSuccess: (agent) => {
      void cache.invalidateQueries({ queryKey: keys.agents })
      onDone(agent)
    },
  })
}

function AgentForm({ onDone }: { onDone(): void }) {
  const [name, setName] = useState('')
  const [dialect, setDialect] = useState('claude')
  const [command, setCommand] = useState('')
  const [model, setModel] = useState('')
  const add = useAddAgent(onDone)
  const fields = fieldsOf(add.error)
  const submit = () => {
    add.mutate({
      name: name.trim() || dialect,
      dialect,
      ...(command.trim() ? { command: command.trim() } : {}),
      ...(model.trim() ? { model: model.trim() } : {}),
    })
  }
  return (
    <DialogForm
      act={t('Add agent')}
      failed={t('The agent was not added')}
      why={beside(add.error, ['name', 'dialect', 'command', 'model'])}
      isBusy={add.isPending}
      onAct={submit}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('Dialect')} error={fields.dialect}>
          {(wiring) => (
            <Select
              {...wiring}
              autoFocus
              value={dialect}
              onChange={(event) => setDialect(event.target.value)}
            >
              {Object.entries(DIALECTS).map(([value, words]) => (
                <option key={value} value={value}>
                  {value === 'shell' || value === 'acp' ? `${value}: ${words}` : words}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t('Name')} error={fields.name}>
          {(wiring) => (
            <Input
              {...wiring}
              placeholder={dialect}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field
          label={t('Command')}
          error={fields.command}
          className="sm:col-span-2"
          hint={
            dialect === 'shell'
              ? t('Run with sh -c in the checkout.')
              : t('As the dialect has it when left empty.')
          }
        >
          {(wiring) => (
            <textarea
              {...wiring}
              rows={3}
              value={command}
              onChange={(event) => setCommand(event.target.value)}
              className="w-full rounded-lg border border-line-strong/60 bg-card px-3 py-2 font-mono text-small"
            />
          )}
        </Field>
        {dialect !== 'shell' && (
          <Field label={t('Model')} error={fields.model} hint={t("The agent's own choice when left empty.")}>
            {(wiring) => (
              <Input {...wiring} value={model} onChange={(event) => setModel(event.target.value)} />
            )}
          </Field>
        )}
      </div>
    </DialogForm>
  )
}
