/** How an agent is run: a new one, or one that is there already. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callJson } from '../api/call'
import { beside, fieldsOf } from '../api/problem'
import { keys, templates } from '../api/queries'
import { CommandFields } from '../rule/CommandFields'
import { draftOf as commandsOf, rulesOf } from '../rule/patterns'
import type { Agent, NewAgent } from '../task/types'
import { Dialog } from '../ui/Dialog'
import { DialogForm } from '../ui/DialogForm'
import { Field, Input, inputLook, Select } from '../ui/Field'
import { t } from '../words/words'
import { DIALECTS } from './dialects'
import { type AgentDraft, BLANK, draftOf, read } from './draft'

interface AgentDialogProps {
  /** The one that is changed; nothing for a new one. */
  agent?: Agent | undefined
  isOpen: boolean
  onClose(): void
}

export function AgentDialog({ agent, isOpen, onClose }: AgentDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={agent ? t('Change {name}', { name: agent.name }) : t('Add an agent')}
      lead={t('How to start it. Access to models comes from the gateway.')}
    >
      <AgentForm agent={agent} onDone={onClose} />
    </Dialog>
  )
}

const at = (name: string) => `/api/v1/agents/${encodeURIComponent(name)}`
const SHOWN = ['name', 'dialect', 'command', 'model', 'template', 'at_once', 'env']

function AgentForm({ agent, onDone }: { agent: Agent | undefined; onDone(): void }) {
  const cache = useQueryClient()
  const rooms = useQuery(templates).data ?? []
  const [draft, setDraft] = useState<AgentDraft>(agent ? draftOf(agent) : BLANK)
  const [commands, setCommands] = useState(commandsOf(agent?.commands))
  const [wrong, setWrong] = useState<Partial<Record<string, string>>>({})
  const save = useMutation({
    mutationFn: async (body: NewAgent) => {
      const rules = rulesOf(commands)
      const isRuled = rules.allow.length + rules.deny.length > 0
      // What is said anew is all there is of it: a part that this form does not know is handed back as it was.
      const known = agent ? { phrases: agent.phrases, mcp: agent.mcp } : {}
      const kept = Object.fromEntries(Object.entries(known).filter(([, value]) => value != null))
      return callJson<Agent>('/api/v1/agents', {
        method: 'POST',
        body: { ...kept, ...body, ...(isRuled ? { commands: rules } : {}) },
      })
    },
    onSuccess: () => {
      void cache.invalidateQueries({ queryKey: keys.agents })
      onDone()
    },
  })
  const fields: Partial<Record<string, string>> = { ...fieldsOf(save.error), ...wrong }
  const text = (name: keyof AgentDraft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) =>
      setDraft((now) => ({ ...now, [name]: event.target.value })),
  })
  const submit = () => {
    const { body, errors } = read(draft)
    setWrong(errors)
    if (Object.keys(errors).length === 0) save.mutate(body)
  }
  const dialects = { ...(agent ? { [agent.dialect]: agent.dialect } : {}), ...DIALECTS }
  const ruleWrong = Object.fromEntries(
    Object.entries(fields).filter(
      (entry): entry is [string, string] => entry[0].startsWith('commands') && Boolean(entry[1]),
    ),
  )
  return (
    <DialogForm
      act={agent ? t('Save') : t('Add agent')}
      failed={agent ? t('The agent was not changed') : t('The agent was not added')}
      why={beside(save.error, [...SHOWN, ...Object.keys(ruleWrong)])}
      isBusy={save.isPending}
      onAct={submit}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t('Dialect')} error={fields.dialect}>
          {(wiring) => (
            <Select {...wiring} {...text('dialect')} autoFocus>
              {Object.entries(dialects).map(([value, words]) => (
                <option key={value} value={value}>
                  {value === 'shell' || value === 'acp' ? `${value}: ${words}` : words}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t('Name')} error={fields.name}>
          {(wiring) => (
            <Input {...wiring} {...text('name')} placeholder={draft.dialect} disabled={Boolean(agent)} />
          )}
        </Field>
        <Field
          label={t('Command')}
          error={fields.command}
          className="sm:col-span-2"
          hint={
            draft.dialect === 'shell'
              ? t('Run with sh -c in the checkout.')
              : t('As the dialect has it when left empty.')
          }
        >
          {(wiring) => (
            <textarea
              {...wiring}
              {...text('command')}
              rows={2}
              spellCheck={false}
              className={`${inputLook} h-auto min-h-16 resize-y py-2 font-mono text-small`}
            />
          )}
        </Field>
        {draft.dialect !== 'shell' && (
          <Field label={t('Model')} error={fields.model} hint={t("The agent's own choice when left empty.")}>
            {(wiring) => <Input {...wiring} {...text('model')} />}
          </Field>
        )}
        <Field
          label={t('At once')}
          error={fields.at_once}
          hint={t('How many of its tasks may work together.')}
        >
          {(wiring) => (
            <Input
              {...wiring}
              {...text('atOnce')}
              inputMode="numeric"
              placeholder={t('as many as there is room for')}
            />
          )}
        </Field>
        <Field label={t('Template')} error={fields.template}>
          {(wiring) => (
            <Select {...wiring} {...text('template')}>
              <option value="">{t('As the server has it')}</option>
              {rooms.map((it) => (
                <option key={it.name}>{it.name}</option>
              ))}
            </Select>
          )}
        </Field>
        <Field
          label={t('Environment')}
          error={fields.env}
          className="sm:col-span-2"
          hint={t('NAME=value, one on each line. No secrets: what is inside can read them.')}
        >
          {(wiring) => (
            <textarea
              {...wiring}
              {...text('env')}
              rows={2}
              spellCheck={false}
              className={`${inputLook} h-auto min-h-16 resize-y py-2 font-mono text-small`}
            />
          )}
        </Field>
      </div>
      <div className="mt-4">
        <CommandFields draft={commands} onChange={setCommands} wrong={ruleWrong} />
      </div>
    </DialogForm>
  )
}

/** Takes an agent off the list. */
export const removeAgent = (name: string) => callJson(at(name), { method: 'DELETE' })
