import { useQuery } from '@tanstack/react-query'
import { tasks } from '../task/queries'
import type { Task } from '../task/types'

export const isHandUp = (task: Task) => task.phase === 'needs_you' || task.phase === 'failed'

/** How many tasks wait for a person. */
export function useHandsUp(): number {
  return useQuery({ ...tasks, select: countHands }).data ?? 0
}

function countHands(list: Task[]): number {
  return list.filter(isHandUp).length
}
