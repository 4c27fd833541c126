/** What the page remembers of sessions. */
import { queryOptions } from '@tanstack/react-query'
import { callJson, callList } from '../api/call'
import { keys, sandboxes } from '../api/queries'
import { mergeMoments } from '../task/queries'
import type { Moment, Session } from '../task/types'

export const sessions = queryOptions({
  queryKey: keys.sessions,
  queryFn: async ({ client }) => {
    await client.ensureQueryData(sandboxes)
    return callList<Session>('/api/v1/sessions')
  },
})

export const session = (id: string) =>
  queryOptions({
    queryKey: ['session', id] as const,
    queryFn: () => callJson<Session>(`/api/v1/sessions/${encodeURIComponent(id)}`),
  })

export const conversation = (id: string) =>
  queryOptions({
    queryKey: ['session-timeline', id] as const,
    queryFn: async ({ client }): Promise<Moment[]> => {
      const told = await callList<Moment>(`/api/v1/sessions/${encodeURIComponent(id)}/messages`, 5000)
      return mergeMoments(told, client.getQueryData<Moment[]>(['session-timeline', id]) ?? [])
    },
  })
