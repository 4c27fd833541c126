/** What the page remembers of tasks. The stream keeps it fresh. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { call, callJson, callList } from '../api/call'
import { attemptKey } from '../api/client'
import { putSandbox } from '../api/fold'
import { keys, sandboxes } from '../api/queries'
import type { SandboxView } from '../api/types'
import { newer, putTask } from './fold'
import type { Moment, NewTask, Task, Verb } from './types'

export const taskKeys = {
  all: ['tasks'] as const,
  one: (id: number) => ['task', id] as const,
  timeline: (id: number) => ['timeline', id] as const,
  diff: (id: number, head?: string | null, since?: number) => ['diff', id, head ?? '', since ?? ''] as const,
}

/** Every task on the board. Asked for after the point in the journal that the stream follows from, so nothing falls between them. */
export const tasks = queryOptions({
  queryKey: taskKeys.all,
  queryFn: async ({ client }): Promise<Task[]> => {
    await client.ensureQueryData(sandboxes)
    const items = await callList<Task>('/api/v1/tasks')
    // The stream may have told more while the pages were turned.
    return items.map((task) => newer(client.getQueryData<Task>(taskKeys.one(task.id)), task))
  },
  gcTime: Number.POSITIVE_INFINITY,
})

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
      const told = await callList<Moment>(`/api/v1/tasks/${id}/timeline`, 5000)
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

/** What a task changed against its base; or, with `since`, against one of its checkpoints. */
export const diff = (id: number, head?: string | null, since?: number) =>
  queryOptions({
    queryKey: taskKeys.diff(id, head, since),
    queryFn: async ({ signal }) => {
      const from = since !== undefined ? `?from=${since}` : ''
      return (await call(`/api/v1/tasks/${id}/diff${from}`, { signal })).text()
    },
    staleTime: 10_000,
  })

export async function createTask(cache: QueryClient, body: NewTask, attempt = attemptKey()): Promise<Task> {
  const task = await callJson<Task>('/api/v1/tasks', {
    method: 'POST',
    body,
    headers: { 'Idempotency-Key': attempt },
  })
  putTask(cache, task)
  return task
}

/** A sandbox with the files of a checkpoint, to look around in. The work of the task goes on undisturbed. */
export async function openHere(cache: QueryClient, id: number, seq: number): Promise<SandboxView> {
  const desk = await callJson<SandboxView>(`/api/v1/tasks/${id}/open?from=${seq}`, {
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
