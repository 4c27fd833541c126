/** With whom a task will conflict. One that is over conflicts with nobody: what it changed is in the base, or nowhere. */
import { useQuery } from '@tanstack/react-query'
import { isOver } from './phases'
import { tasks } from './queries'
import type { Task } from './types'

type Conflict = Task['conflicts'][number]

export function openConflicts(task: Task, others: readonly Task[] | undefined): Conflict[] {
  if (isOver(task)) return []
  const over = new Set(others?.filter(isOver).map((it) => it.id))
  return task.conflicts.filter((it) => it.task_id == null || !over.has(it.task_id))
}

/** Followed only by those that have any: a board of hundreds would otherwise be asked at each change. */
export function useOpenConflicts(task: Task): readonly Conflict[] {
  const { data } = useQuery({
    ...tasks,
    enabled: task.conflicts.length > 0,
    select: (list) => openConflicts(task, list),
  })
  return task.conflicts.length > 0 ? (data ?? openConflicts(task, undefined)) : []
}
