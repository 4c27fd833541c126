/** What people can ask of a task. Each guesses the outcome at once and takes the guess back, saying why, when the server refuses. */
import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { say } from '../api/problem'
import { dollars } from '../ui/money'
import { toast } from '../ui/Toast'
import { t, tn } from '../words/words'
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
  start: t('Start'),
  stop: t('Stop'),
  message: t('Write'),
  retry: t('Try again'),
  rebase: t('Rebase'),
  merge: t('Merge'),
  close: t('Close'),
  fork: t('Fork'),
}

export const OUTCOMES: Record<Verb, string> = {
  start: t('started'),
  stop: t('stopped'),
  message: t('written to'),
  retry: t('tried again'),
  rebase: t('rebased'),
  merge: t('merged'),
  close: t('closed'),
  fork: t('forked'),
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
        title: t('Let {agent} work on {name}?', { agent: task.agent ?? t('the agent'), name }),
        detail: budget
          ? t('It uses a model that costs money, {budget} at most.', { budget })
          : t('It uses a model that costs money, and this task has no budget to stop at.'),
        act: VERB_WORDS[verb],
        isGrave: false,
      }
    }
    case 'stop':
      return isBusy(task)
        ? {
            title: t('Stop {name}?', { name }),
            detail: t(
              'The agent leaves in the middle of its turn. What it saved before stays on its branch.',
            ),
            act: t('Stop'),
            isGrave: false,
          }
        : undefined
    case 'merge':
      return {
        title: t('Merge {name} into {base}?', { name, base: task.base ?? t('its base') }),
        detail: task.pull
          ? t('Pull request #{number} goes through the lane: checked on the merged result, then merged.', {
              number: task.pull.number,
            })
          : t('It goes through the lane: checked on the merged result, then merged.'),
        act: t('Merge'),
        isGrave: false,
      }
    case 'close':
      return {
        title: t('Close {name} without merging?', { name }),
        detail:
          (task.ahead ?? 0) > 0
            ? tn(
                task.ahead,
                'Its commit is not in {base}. The branch is kept; the desk is cleared.',
                'Its {n} commits are not in {base}. The branch is kept; the desk is cleared.',
                { base: task.base ?? t('the base') },
              )
            : t('Its desk is cleared.'),
        act: t('Close'),
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
          toast(t('task-{id} goes on from task-{id2}', { id: answer.id, id2: task.id }))
        return true
      } catch (error) {
        // When the server has spoken since, what it said stands.
        const now = held(cache, task.id)
        if (guess && now?.phase === guess && now.revision === before.revision) placeTask(cache, before)
        if (onRefused) onRefused(say(error))
        else toast(t('task-{id} was not {done}', { id: task.id, done: OUTCOMES[verb] }), say(error), 'bad')
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
      return { verb: 'start', word: t('Start') }
    case 'queued':
    case 'preparing':
    case 'working':
    case 'publishing':
      return { verb: 'stop', word: t('Stop') }
    case 'needs_you':
      switch (task.needs?.reason) {
        case 'question':
        case 'nothing_changed':
          return { verb: 'answer', word: t('Answer') }
        case 'conflict':
          return { verb: 'rebase', word: t('Rebase again') }
        case 'dependency':
          return { verb: 'start', word: t('Go on') }
        default:
          return { verb: 'retry', word: t('Try again') }
      }
    case 'failed':
      return { verb: 'retry', word: t('Try again') }
    case 'in_review':
      return { verb: 'merge', word: t('Merge') }
    default:
      return isOver(task) ? { verb: 'fork', word: t('Fork') } : undefined
  }
}
