/**
 * Saying something to an agent in the middle of its turn.
 *
 * The turn is stopped, the words are written down, and the work goes on with both. Each is a verb of its own: whoever is cut off in
 * between finds the card in the backlog with everything that was said, and starts it again.
 */
import type { QueryClient } from '@tanstack/react-query'
import { callJson } from '../api/call'
import { say } from '../api/problem'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { putTask } from './fold'
import type { Task } from './types'

export async function interrupt(cache: QueryClient, id: number, text: string): Promise<boolean> {
  const ask = async (verb: string, body?: unknown) => {
    const task = await callJson<Task>(`/api/v1/tasks/${id}/${verb}`, {
      method: 'POST',
      ...(body === undefined ? {} : { body }),
    })
    putTask(cache, task)
    return task
  }
  let isStopped = false
  try {
    const { phase } = await ask('stop?wait=backlog&timeout=60')
    isStopped = phase === 'backlog'
    await ask('message', { text })
    if (isStopped) await ask('start')
    return true
  } catch (error) {
    toast(
      isStopped ? t('task-{id} was stopped', { id }) : t('task-{id} was not interrupted', { id }),
      say(error),
      'bad',
    )
    return false
  }
}
