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

const quiet = { text: t('text-soft'), dot: 'bg-line-strong', wash: 'bg-well', isMoving: false }
const busy = { text: t('text-lamp'), dot: 'bg-lamp', wash: 'bg-lamp-wash', isMoving: true }
const bad = { text: t('text-oxblood'), dot: 'bg-oxblood', wash: 'bg-oxblood-wash', isMoving: false }

export const TASK_LOOKS: Record<TaskPhase, PhaseLook> = {
  backlog: { ...quiet, word: t('Backlog') },
  queued: {
    word: t('Queued'),
    text: t('text-slate'),
    dot: 'bg-slate',
    wash: 'bg-slate-wash',
    isMoving: false,
  },
  preparing: {
    word: t('Preparing'),
    text: t('text-brass'),
    dot: 'bg-brass',
    wash: 'bg-brass-wash',
    isMoving: true,
  },
  working: { ...busy, word: t('Working') },
  publishing: { ...busy, word: t('Publishing') },
  in_review: {
    word: t('In review'),
    text: t('text-slate'),
    dot: 'bg-slate',
    wash: 'bg-slate-wash',
    isMoving: false,
  },
  needs_you: {
    word: t('Needs you'),
    text: t('text-brass'),
    dot: 'bg-brass',
    wash: 'bg-brass-wash',
    isMoving: false,
  },
  merged: { word: t('Merged'), text: t('text-lamp'), dot: 'bg-lamp', wash: 'bg-lamp-wash', isMoving: false },
  closed: { ...quiet, word: t('Closed') },
  failed: { ...bad, word: t('Failed') },
}

/** Whether an agent is at the desk. */
export const isBusy = (task: Task) =>
  task.phase === 'preparing' || task.phase === 'working' || task.phase === 'publishing'

export const isOver = (task: Task) => task.phase === 'merged' || task.phase === 'closed'

export const branchOf = (task: Task) => task.branch ?? `task-${task.id}`

const REASONS: Record<string, string> = {
  question: 'has a question',
  nothing_changed: 'changed nothing',
  agent_failed: 'could not go on',
  desk_failed: 'has no desk',
  push_refused: 'could not push its work',
  forge_failed: 'could not open its pull request',
  conflict: 'could not settle a conflict',
  checks_failed: 'has failing checks',
  budget: 'has spent its budget',
  stopped: 'was stopped',
  repo: 'cannot use its repository',
}

/** Why a task waits for a person, as the end of a sentence that begins with it. */
export function needsInWords(task: Task): string {
  const reason = task.needs?.reason
  if (!reason) return task.phase === 'failed' ? 'failed' : 'needs you'
  return REASONS[reason] ?? reason.replaceAll('_', ' ')
}

/** How the work of a task is brought into somebody's own checkout. */
export const fetchLine = (task: Task) =>
  `git fetch ${window.location.origin}/git/${task.repo}.git ${branchOf(task)}`
