/** An agent as people write it, and the body it means. */
import type { Agent, NewAgent } from '../task/types'
import { t } from '../words/words'

export interface AgentDraft {
  name: string
  dialect: string
  command: string
  model: string
  template: string
  atOnce: string
  /** `NAME=value`, one on each line. */
  env: string
}

export const BLANK: AgentDraft = {
  name: '',
  dialect: 'claude',
  command: '',
  model: '',
  template: '',
  atOnce: '',
  env: '',
}

/** One that is there already. The values of its environment are never shown: they wait to be written again. */
export const draftOf = (agent: Agent): AgentDraft => ({
  name: agent.name,
  dialect: agent.dialect,
  command: agent.command ?? '',
  model: agent.model ?? '',
  template: agent.template ?? '',
  atOnce: agent.at_once == null ? '' : String(agent.at_once),
  env: (agent.env_names ?? []).map((name) => `${name}=`).join('\n'),
})

export type AgentErrors = Partial<Record<string, string>>

export function read(draft: AgentDraft): { body: NewAgent; errors: AgentErrors } {
  const errors: AgentErrors = {}
  const body: NewAgent = { name: draft.name.trim() || draft.dialect, dialect: draft.dialect }
  if (draft.command.trim()) body.command = draft.command.trim()
  if (draft.model.trim()) body.model = draft.model.trim()
  if (draft.template) body.template = draft.template
  if (draft.atOnce.trim()) {
    const most = Number(draft.atOnce)
    if (Number.isInteger(most) && most >= 1) body.at_once = most
    else errors.at_once = t('Write a whole number above zero.')
  }
  const env: Record<string, string> = {}
  for (const line of draft.env.split('\n')) {
    if (!line.trim()) continue
    const at = line.indexOf('=')
    const name = line.slice(0, Math.max(at, 0)).trim()
    const value = line.slice(at + 1).trim()
    if (!name) errors.env = t('Write NAME=value, one on each line.')
    else if (!value) errors.env = t('{name} has no value. Write it again, or take the line away.', { name })
    else env[name] = value
  }
  if (Object.keys(env).length > 0) body.env = env
  return { body, errors }
}
