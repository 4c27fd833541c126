/** What people can ask of a task. Each guesses the outcome at once and takes the guess back, saying why, when the server refuses. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { say } from '../api/problem'
import { dollars } from '../ui/money'
import { toast } from '../ui/Toast'
import { placeTask } from './fold'
import { isBusy, isOver } from './phases'
import { ask, taskKeys } from './queries'
import type { Task, TaskPhase, Verb } from './types'

const GUESSES: Partial<Record<Verb, TaskPhase>> = {
  start: 'queued',
  retry: 'queued',
  close: 'closed',
}

export const VERB_WORDS: Record<Verb, string> = {
  start: 'Start',
  stop: 'Stop',
  message: 'Write',
  retry: 'Try again',
  rebase: 'Rebase',
  merge: 'Merge',
  close: 'Close',
  fork: 'Fork',
}

export const OUTCOMES: Record<Verb, string> = {
  start: 'started',
  stop: 'stopped',
  message: 'written to',
  retry: 'tried again',
  rebase: 'rebased',
  merge: 'merged',
  close: 'closed',
  fork: 'forked',
}

/** What can be asked of a task where it stands. The server has the last word. */
export function possible(task: Task): Verb[] {
  switch (task.phase) {
    case 'backlog':
      return ['start', 'close']
    case 'queued':
    case 'preparing':
      return ['stop', 'close']
    case 'working':
    case 'publishing':
      return ['stop', 'message', 'fork', 'close']
    case 'needs_you':
      return ['message', 'retry', 'rebase', 'fork', 'close']
    case 'failed':
      return ['retry', 'fork', 'close']
    case 'in_review':
      return ['merge', 'message', 'rebase', 'fork', 'close']
    case 'merged':
    case 'closed':
      return ['fork']
  }
}

export interface Question {
  title: string
  detail: string
  act: string
  isGrave: boolean
}

/** What to ask before a verb that costs something; nothing to ask for the others. */
export function question(task: Task, verb: Verb, spends: boolean): Question | undefined {
  const name = `task-${task.id}`
  switch (verb) {
    case 'start':
    case 'retry': {
      if (!spends) return undefined
      const budget = dollars(task.budget_usd)
      return {
        title: `Let ${task.agent ?? 'the agent'} work on ${name}?`,
        detail: budget
          ? `It uses a model that costs money, ${budget} at most.`
          : 'It uses a model that costs money, and this task has no budget to stop at.',
        act: VERB_WORDS[verb],
        isGrave: false,
      }
    }
    case 'stop':
      return isBusy(task)
        ? {
            title: `Stop ${name}?`,
            detail: 'The agent leaves in the middle of its turn. What it saved before stays on its branch.',
            act: 'Stop',
            isGrave: false,
          }
        : undefined
    case 'merge':
      return {
        title: `Merge ${name} into ${task.base ?? 'its base'}?`,
        detail: task.pull
          ? `Pull request #${task.pull.number} goes through the lane: checked on the merged result, then merged.`
          : 'It goes through the lane: checked on the merged result, then merged.',
        act: 'Merge',
        isGrave: false,
      }
    case 'close':
      return {
        title: `Close ${name} without merging?`,
        detail:
          (task.ahead ?? 0) > 0
            ? `Its ${task.ahead === 1 ? 'commit is' : `${task.ahead} commits are`} not in ${task.base ?? 'the base'}. The branch is kept; the desk is cleared.`
            : 'Its desk is cleared.',
        act: 'Close',
        isGrave: true,
      }
    default:
      return undefined
  }
}

/** With `onRefused` the reason goes there; otherwise it is shown where every page shows such things. */
export type Act = (
  task: Task,
  verb: Verb,
  body?: unknown,
  onRefused?: (why: string) => void,
) => Promise<boolean>

/** Asks, guesses, and takes back. Answers whether the server agreed. */
export function useAct(): Act {
  const cache = useQueryClient()
  return useCallback<Act>(
    async (task, verb, body, onRefused) => {
      const guess = GUESSES[verb]
      const before = held(cache, task.id) ?? task
      if (guess) placeTask(cache, { ...before, phase: guess })
      try {
        const answer = await ask(cache, task.id, verb, body)
        // Silence means yes; the stream tells the rest. A guess that the stream has not confirmed yet stands.
        if (verb === 'fork' && answer && answer.id !== task.id)
          toast(`task-${answer.id} goes on from task-${task.id}`)
        return true
      } catch (error) {
        // When the server has spoken since, what it said stands.
        const now = held(cache, task.id)
        if (guess && now?.phase === guess && now.revision === before.revision) placeTask(cache, before)
        if (onRefused) onRefused(say(error))
        else toast(`task-${task.id} was not ${OUTCOMES[verb]}`, say(error), 'bad')
        return false
      }
    },
    [cache],
  )
}

function held(cache: QueryClient, id: number): Task | undefined {
  return (
    cache.getQueryData<Task>(taskKeys.one(id)) ??
    cache.getQueryData<Task[]>(taskKeys.all)?.find((it) => it.id === id)
  )
}

/** The one thing to do next, for the button that stands out. */
export function primary(task: Task): { verb: Verb | 'review' | 'answer'; word: string } | undefined {
  switch (task.phase) {
    case 'backlog':
      return { verb: 'start', word: 'Start' }
    case 'queued':
    case 'preparing':
    case 'working':
    case 'publishing':
      return { verb: 'stop', word: 'Stop' }
    case 'needs_you':
      switch (task.needs?.reason) {
        case 'question':
        case 'nothing_changed':
          return { verb: 'answer', word: 'Answer' }
        case 'conflict':
          return { verb: 'rebase', word: 'Rebase again' }
        case 'dependency':
          return { verb: 'start', word: 'Go on' }
        default:
          return { verb: 'retry', word: 'Try again' }
      }
    case 'failed':
      return { verb: 'retry', word: 'Try again' }
    case 'in_review':
      return { verb: 'merge', word: 'Merge' }
    default:
      return isOver(task) ? { verb: 'fork', word: 'Fork' } : undefined
  }
}
