/** How news of tasks is put into the cache. Each entry carries its task as it now is, so folding is a put. */
import type { QueryClient } from '@tanstack/react-query'
import type { Moment, Task } from './types'

/** The newer of what we hold and what we were told. */
export function newer(held: Task | undefined, told: Task): Task {
  if (!held) return told
  if (held.revision !== undefined && told.revision !== undefined)
    return held.revision > told.revision ? held : told
  return held.updated_at > told.updated_at ? held : told
}

/** Puts a task wherever it is shown. One that is not newer than what we hold is old news. */
export function putTask(cache: QueryClient, told: Task): void {
  const held =
    cache.getQueryData<Task>(['task', told.id]) ??
    cache.getQueryData<Task[]>(['tasks'])?.find((it) => it.id === told.id)
  if (held && newer(held, told) === held) return
  placeTask(cache, told)
}

/** Puts a task as it is: the server's word, or a guess that the server's next word replaces. */
export function placeTask(cache: QueryClient, task: Task): void {
  cache.setQueryData(['task', task.id], task)
  cache.setQueryData<Task[]>(['tasks'], (list) => {
    if (!list) return list
    const at = list.findIndex((it) => it.id === task.id)
    return at < 0 ? [task, ...list] : list.with(at, task)
  })
}

/** Puts a moment into its conversation, when anyone follows it. A moment told twice is told once. */
export function putMoment(cache: QueryClient, taskId: number, moment: Moment): void {
  cache.setQueryData<Moment[]>(['timeline', taskId], (list) => list && insert(list, moment))
}

export function insert(list: Moment[], moment: Moment): Moment[] {
  const last = list.at(-1)
  if (!last || last.seq < moment.seq) return [...list, moment]
  const at = list.findLastIndex((it) => it.seq <= moment.seq)
  // The same place again: a tool call that has its output now.
  if (list[at]?.seq === moment.seq) return list.with(at, moment)
  return list.toSpliced(at + 1, 0, moment)
}
