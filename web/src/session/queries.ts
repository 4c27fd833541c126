/** What the page remembers of sessions. */
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { callJson, callList } from '../api/call'
import { attemptKey } from '../api/client'
import { keys, sandboxes } from '../api/queries'
import { type DiffPlace, mergeMoments } from '../task/queries'
import type { Moment, Session } from '../task/types'
import { putSession } from './fold'

export const addressOf = (id: string) => `/api/v1/sessions/${encodeURIComponent(id)}`

export const sessions = queryOptions({
  queryKey: keys.sessions,
  queryFn: async ({ client }) => {
    await client.ensureQueryData(sandboxes)
    return callList<Session>('/api/v1/sessions')
  },
})

/** The latest of those that are over. */
export const closedSessions = queryOptions({
  queryKey: ['closed-sessions'] as const,
  queryFn: () => callList<Session>('/api/v1/sessions?phase=closed', 500),
})

/** Those in which something that was said holds a text. */
export const sessionsSaying = (text: string, isClosed: boolean) =>
  queryOptions({
    queryKey: ['sessions-saying', text, isClosed] as const,
    queryFn: () =>
      callList<Session>(
        `/api/v1/sessions?q=${encodeURIComponent(text)}${isClosed ? '&phase=closed' : ''}`,
        200,
      ),
    staleTime: 10_000,
  })

export const session = (id: string) =>
  queryOptions({
    queryKey: ['session', id] as const,
    queryFn: () => callJson<Session>(addressOf(id)),
  })

/** What a session changed since it began; or, with `since`, since one of its checkpoints. */
export const diffOf = (session: Session, head: string | undefined, since?: number): DiffPlace => ({
  key: ['session-diff', session.id, head ?? '', since ?? ''],
  address: `${addressOf(session.id)}/diff${since === undefined ? '' : `?from=${since}`}`,
})

/** Another session that goes on from a checkpoint, with its files and what was said until then. */
export async function forkFrom(cache: QueryClient, id: string, seq: number): Promise<Session> {
  const fork = await callJson<Session>(`${addressOf(id)}/fork`, {
    method: 'POST',
    body: { from: seq },
    headers: { 'Idempotency-Key': attemptKey() },
  })
  putSession(cache, fork)
  return fork
}

/** Breaks off what the agent is doing; with words, those are what it reads next. */
export async function interrupt(cache: QueryClient, id: string, text?: string): Promise<Session> {
  const body = text === undefined ? {} : { text }
  const session = await callJson<Session>(`${addressOf(id)}/interrupt`, { method: 'POST', body })
  putSession(cache, session)
  return session
}

export const conversation = (id: string) =>
  queryOptions({
    queryKey: ['session-timeline', id] as const,
    queryFn: async ({ client }): Promise<Moment[]> => {
      const told = await callList<Moment>(`${addressOf(id)}/messages`, 5000)
      return mergeMoments(told, client.getQueryData<Moment[]>(['session-timeline', id]) ?? [])
    },
  })
