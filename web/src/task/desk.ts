/** The sandbox behind a task. */
import { useQuery } from '@tanstack/react-query'
import { sandboxes } from '../api/queries'
import type { SandboxView } from '../api/types'
import type { Task } from './types'

/** From the list of the living, which the stream keeps true; nothing when it is gone. */
export function useSandboxOf(task: Pick<Task, 'sandbox_id'>): SandboxView | undefined {
  const { data } = useQuery({
    ...sandboxes,
    select: (list) => list.items.find((it) => it.id === task.sandbox_id && it.phase !== 'gone'),
    enabled: Boolean(task.sandbox_id),
  })
  return data
}
