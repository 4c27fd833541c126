/** What the page remembers of a pull: itself, its checks, and what was said there. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { callJson, callList } from '../api/call'
import type { Task } from '../task/types'
import { pullKey } from './fold'
import type { Check, NewPullComment, Pull, PullComment } from './types'

const at = (repo: string, number: number) => `/api/v1/pulls/${encodeURIComponent(repo)}/${number}`

export const pull = (repo: string, number: number) =>
  queryOptions({
    queryKey: pullKey(repo, number),
    queryFn: () => callJson<Pull>(at(repo, number)),
    retry: false,
  })

export const checks = (repo: string, number: number) =>
  queryOptions({
    queryKey: [...pullKey(repo, number), 'checks'] as const,
    queryFn: () => callList<Check>(`${at(repo, number)}/checks`),
    retry: false,
  })

export const comments = (repo: string, number: number) =>
  queryOptions({
    queryKey: [...pullKey(repo, number), 'comments'] as const,
    queryFn: () => callList<PullComment>(`${at(repo, number)}/comments`),
    retry: false,
  })

/** Posts what was said here where the pull lives too. */
export const mirror = (repo: string, number: number, body: NewPullComment) =>
  callJson<PullComment>(`${at(repo, number)}/comments`, { method: 'POST', body })

/** The checks of a task's pull; none while it has no pull. */
export function useChecks(task: Task): readonly Check[] {
  const number = task.pull?.number
  return useQuery({ ...checks(task.repo, number ?? 0), enabled: number !== undefined }).data ?? []
}
