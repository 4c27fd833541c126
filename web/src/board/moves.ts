/** Asking something of a card on the board: by drag, by key, by menu. All go the same way. */
import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { agents } from '../agent/queries'
import type { Task, Verb } from '../task/types'
import { question, useAct } from '../task/verbs'
import { askFirst } from '../ui/Ask'

export function useMoves() {
  const act = useAct()
  const { data } = useQuery(agents)
  const attempt = useCallback(
    async (task: Task, verb: Verb): Promise<boolean> => {
      // A script costs nothing; every other dialect talks to a model.
      const agent = data?.find((it) => it.name === task.agent)
      const spends = agent !== undefined && !['shell', 'demo'].includes(agent.dialect)
      const asked = question(task, verb, spends)
      if (asked && !(await askFirst(asked))) return false
      return act(task, verb)
    },
    [act, data],
  )
  return { attempt, act }
}
