/** How a task's phase looks and reads. */

import { t } from '../words/words'
import type { Task, TaskPhase } from './types'

export interface PhaseLook {
  word: string
  text: string
  dot: string
  wash: string
  isMoving: boolean
}

const quiet = { text: 'text-soft', dot: 'bg-line-strong', wash: 'bg-well', isMoving: false }
const busy = { text: 'text-lamp', dot: 'bg-lamp', wash: 'bg-lamp-wash', isMoving: true }
const bad = { text: 'text-oxblood', dot: 'bg-oxblood', wash: 'bg-oxblood-wash', isMoving: false }

export const TASK_LOOKS: Record<TaskPhase, PhaseLook> = {
  backlog: { ...quiet, word: t('Backlog') },
  queued: {
    word: t('Queued'),
    text: 'text-slate',
    dot: 'bg-slate',
    wash: 'bg-slate-wash',
    isMoving: false,
  },
  preparing: {
    word: t('Preparing'),
    text: 'text-brass',
    dot: 'bg-brass',
    wash: 'bg-brass-wash',
    isMoving: true,
  },
  working: { ...busy, word: t('Working') },
  publishing: { ...busy, word: t('Publishing') },
  in_review: {
    word: t('In review'),
    text: 'text-slate',
    dot: 'bg-slate',
    wash: 'bg-slate-wash',
    isMoving: false,
  },
  needs_you: {
    word: t('Needs you'),
    text: 'text-brass',
    dot: 'bg-brass',
    wash: 'bg-brass-wash',
    isMoving: false,
  },
  merged: { word: t('Merged'), text: 'text-lamp', dot: 'bg-lamp', wash: 'bg-lamp-wash', isMoving: false },
  closed: { ...quiet, word: t('Closed') },
  failed: { ...bad, word: t('Failed') },
}

export const TASK_PHASES = Object.keys(TASK_LOOKS) as TaskPhase[]

/** Whether an agent is at the desk. */
export const isBusy = (task: Task) =>
  task.phase === 'preparing' || task.phase === 'working' || task.phase === 'publishing'

export const isOver = (task: Pick<Task, 'phase'>) => task.phase === 'merged' || task.phase === 'closed'

export const branchOf = (task: Task) => task.branch ?? `task-${task.id}`

const REASONS: Record<string, string> = {
  question: t('has a question'),
  nothing_changed: t('changed nothing'),
  agent_failed: t('could not go on'),
  desk_failed: t('has no desk'),
  push_refused: t('could not push its work'),
  forge_failed: t('could not open its pull request'),
  conflict: t('could not settle a conflict'),
  checks_failed: t('has failing checks'),
  budget: t('has spent its budget'),
  stopped: t('was stopped'),
  repo: t('cannot use its repository'),
}

/** Why a task waits for a person, as the end of a sentence that begins with it. */
export function needsInWords(task: Task): string {
  const reason = task.needs?.reason
  if (!reason) return task.phase === 'failed' ? t('failed') : t('needs you')
  return REASONS[reason] ?? reason.replaceAll('_', ' ')
}

/** How the work of a task is brought into somebody's own checkout. */
export const fetchLine = (task: Task) =>
  `git fetch ${window.location.origin}/git/${task.repo}.git ${branchOf(task)}`
