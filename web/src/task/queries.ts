/** What the page remembers of tasks. The stream keeps it fresh. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { callJson, callList } from '../api/call'
import { attemptKey } from '../api/client'
import { putSandbox } from '../api/fold'
import { keys, sandboxes } from '../api/queries'
import type { SandboxView } from '../api/types'
import { newer, putTask } from './fold'
import { isOver, TASK_PHASES } from './phases'
import type { Moment, NewTask, Task, Verb } from './types'

export const taskKeys = {
  all: ['tasks'] as const,
  one: (id: number) => ['task', id] as const,
  timeline: (id: number) => ['timeline', id] as const,
  diff: (id: number, head?: string | null, since?: number) => ['diff', id, head ?? '', since ?? ''] as const,
}

const OVER = TASK_PHASES.filter((phase) => isOver({ phase }))
const OPEN = TASK_PHASES.filter((phase) => !isOver({ phase }))
/** Of what is open, all there is; of what is over, the latest. */
const MOST_OPEN = 10_000
const MOST_OVER = 1_000
/** A conversation is read whole; this many say that something ran wild. */
const MOST_MOMENTS = 50_000

/** Every task on the board. Asked for after the point in the journal that the stream follows from, so nothing falls between them. */
export const tasks = queryOptions({
  queryKey: taskKeys.all,
  queryFn: async ({ client }): Promise<Task[]> => {
    await client.ensureQueryData(sandboxes)
    const [open, over] = await Promise.all([
      callList<Task>(`/api/v1/tasks?phase=${OPEN.join(',')}`, MOST_OPEN),
      callList<Task>(`/api/v1/tasks?phase=${OVER.join(',')}`, MOST_OVER),
    ])
    // One that ended between the two answers is in both or in neither, and some were made meanwhile: the stream told them all.
    const heard = client.getQueriesData<Task>({ queryKey: ['task'] }).flatMap(([, task]) => task ?? [])
    return gathered([...open, ...over, ...heard])
  },
  gcTime: Number.POSITIVE_INFINITY,
})

/** Several tellings of some tasks: each task once, by its newest telling, the newest task first. */
export function gathered(told: readonly Task[]): Task[] {
  const tasks = new Map<number, Task>()
  for (const task of told) tasks.set(task.id, newer(tasks.get(task.id), task))
  return [...tasks.values()].sort((a, b) => b.id - a.id)
}

export const task = (id: number) =>
  queryOptions({
    queryKey: taskKeys.one(id),
    queryFn: async ({ client }) =>
      newer(client.getQueryData<Task>(taskKeys.one(id)), await callJson<Task>(`/api/v1/tasks/${id}`)),
    placeholderData: undefined,
  })

/** The conversation so far, oldest first. What comes after is put behind it by the stream. */
export const timeline = (id: number) =>
  queryOptions({
    queryKey: taskKeys.timeline(id),
    queryFn: async ({ client }): Promise<Moment[]> => {
      await client.ensureQueryData({ queryKey: keys.sandboxes, queryFn: sandboxes.queryFn })
      const told = await callList<Moment>(`/api/v1/tasks/${id}/timeline`, MOST_MOMENTS)
      const heard = client.getQueryData<Moment[]>(taskKeys.timeline(id)) ?? []
      return mergeMoments(told, heard)
    },
  })

/** Two tellings of one conversation: by place, each once, the later telling wins. */
export function mergeMoments(told: readonly Moment[], heard: readonly Moment[]): Moment[] {
  if (heard.length === 0) return [...told]
  const places = new Map(told.map((moment) => [moment.seq, moment]))
  for (const moment of heard) places.set(moment.seq, moment)
  return [...places.values()].sort((a, b) => a.seq - b.seq)
}

/** Where to read a diff, and the name under which it is kept: another one for each state of the work. */
export interface DiffPlace {
  key: readonly unknown[]
  address: string
}

/** What a task changed against its base; or, with `since`, against one of its checkpoints. */
export const diffOf = (task: Task, since?: number): DiffPlace => ({
  key: taskKeys.diff(task.id, `${task.head ?? ''} ${task.phase}`, since),
  address: diffAddress(task, since),
})

/** Once it is merged, its base has all of it: what it changed is known at its pull request. */
export function diffAddress({ id, phase, repo, pull }: Task, since: number | undefined): string {
  if (since !== undefined) return `/api/v1/tasks/${id}/diff?from=${since}`
  return phase === 'merged' && pull
    ? `/api/v1/pulls/${encodeURIComponent(repo)}/${pull.number}/diff`
    : `/api/v1/tasks/${id}/diff`
}

export async function createTask(cache: QueryClient, body: NewTask, attempt = attemptKey()): Promise<Task> {
  const task = await callJson<Task>('/api/v1/tasks', {
    method: 'POST',
    body,
    headers: { 'Idempotency-Key': attempt },
  })
  putTask(cache, task)
  return task
}

/** A sandbox with the files of a checkpoint of a task or a session, to look around in. The work there goes on undisturbed. */
export async function openHere(cache: QueryClient, of: string, seq: number): Promise<SandboxView> {
  const desk = await callJson<SandboxView>(`/api/v1/${of}/open?from=${seq}`, {
    method: 'POST',
    headers: { 'Idempotency-Key': attemptKey() },
  })
  putSandbox(cache, desk)
  return desk
}

/** Asks something of a task. The answer is the task as it now is; of a fork, the first of the attempts. */
export async function ask(
  cache: QueryClient,
  id: number,
  verb: Verb,
  body?: unknown,
): Promise<Task | undefined> {
  const answer = await callJson<Task | { items: Task[] }>(`/api/v1/tasks/${id}/${verb}`, {
    method: 'POST',
    ...(body === undefined ? {} : { body }),
  })
  const told = 'items' in answer ? answer.items : [answer]
  for (const task of told) putTask(cache, task)
  return told[0]
}
