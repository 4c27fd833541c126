/** The board's columns: views of phases, with no state of their own. */
import type { Task, TaskPhase, Verb } from '../task/types'
import { t } from '../words/words'

export const COLUMNS = ['backlog', 'queued', 'working', 'needs_you', 'in_review', 'done'] as const
export type Column = (typeof COLUMNS)[number]

export const COLUMN_WORDS: Record<Column, string> = {
  backlog: t('Backlog'),
  queued: t('Queued'),
  working: t('Working'),
  needs_you: t('Needs you'),
  in_review: t('In review'),
  done: t('Done'),
}

/** What an empty column says. */
export const COLUMN_HINTS: Record<Column, string> = {
  backlog: t('Wishes that nobody works on yet.'),
  queued: t('Drop a card here to start it.'),
  working: t('Agents at their desks.'),
  needs_you: t('Nobody waits for you.'),
  in_review: t('Pull requests to read.'),
  done: t('Merged and closed.'),
}

const COLUMN_OF: Record<TaskPhase, Column> = {
  backlog: 'backlog',
  queued: 'queued',
  preparing: 'working',
  working: 'working',
  publishing: 'working',
  needs_you: 'needs_you',
  failed: 'needs_you',
  in_review: 'in_review',
  merged: 'done',
  closed: 'done',
}

export const columnOf = (task: Task): Column => COLUMN_OF[task.phase]

/** How many cards each column has. */
export function count(tasks: readonly Task[]): Record<Column, number> {
  const counts = { backlog: 0, queued: 0, working: 0, needs_you: 0, in_review: 0, done: 0 }
  for (const task of tasks) counts[columnOf(task)] += 1
  return counts
}

/**
 * The cards of each column in the order they are read: what waits longest first where someone waits, else the latest first.
 * A column in which nothing changed is the same list as `before`, so that it need not be drawn again.
 */
export function deal(tasks: readonly Task[], before?: Record<Column, Task[]>): Record<Column, Task[]> {
  const columns: Record<Column, Task[]> = {
    backlog: [],
    queued: [],
    working: [],
    needs_you: [],
    in_review: [],
    done: [],
  }
  for (const task of tasks) columns[columnOf(task)].push(task)
  columns.backlog.sort((a, b) => b.priority - a.priority || b.id - a.id)
  columns.queued.sort((a, b) => b.priority - a.priority || a.id - b.id)
  columns.working.sort((a, b) => compare(since(b), since(a)) || b.id - a.id)
  columns.needs_you.sort((a, b) => a.id - b.id)
  columns.in_review.sort((a, b) => a.id - b.id)
  columns.done.sort((a, b) => compare(b.ended_at ?? b.updated_at, a.ended_at ?? a.updated_at))
  if (before)
    for (const column of COLUMNS)
      if (isSame(before[column], columns[column])) columns[column] = before[column]
  return columns
}

const isSame = (a: readonly Task[], b: readonly Task[]) =>
  a.length === b.length && a.every((task, at) => task === b[at])

/** Times are written so that their letters are in their order; asking for a language's order costs a hundred times more. */
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

// Not `updated_at`: cards would jump with every word an agent says.
const since = (task: Task) => task.started_at ?? task.created_at

export type Move = { verb: Verb } | { refused: string } | { stays: true }

/** What dropping a card on a column asks for. The server has the last word; this says no early only where no verb exists. */
export function moveTo(task: Task, to: Column): Move {
  const from = columnOf(task)
  if (from === to) return { stays: true }
  if (from === 'done') return { refused: t('It is finished. Fork it to go on from where it ended.') }
  switch (to) {
    case 'backlog':
      if (from === 'needs_you')
        return { refused: t('Nobody works on it. It rests here until you answer, or close it.') }
      if (from === 'in_review') return { refused: t('Its pull request is open. Merge it, or close it.') }
      return { verb: 'stop' }
    case 'queued':
    case 'working':
      if (from === 'queued') return { refused: t('It starts by itself as soon as there is room for it.') }
      if (from === 'working') return { refused: t('It is being worked on already.') }
      return { verb: from === 'backlog' ? 'start' : 'retry' }
    case 'needs_you':
      return { refused: t('Agents raise their hand themselves. Stop it, or write to it, to have a word.') }
    case 'in_review':
      return { refused: t('A card comes here when its pull request is open.') }
    case 'done':
      return { verb: from === 'in_review' ? 'merge' : 'close' }
  }
}

/** The card one step away. From nowhere, the first card there is. */
export function neighbour(
  columns: Record<Column, Task[]>,
  now: Task | undefined,
  across: number,
  down: number,
): Task | undefined {
  const filled = COLUMNS.filter((column) => columns[column].length > 0)
  const first = filled[0]
  if (!now) return first && columns[first][0]
  const here = columnOf(now)
  const row = columns[here].findIndex((task) => task.id === now.id)
  if (down !== 0) return columns[here][row + down]
  const next = filled[filled.indexOf(here) + across]
  return next && columns[next][Math.min(row, columns[next].length - 1)]
}
