/** What the page remembers of a pull: itself, its checks, and what was said and judged there. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { callJson, callList } from '../api/call'
import type { DiffPlace } from '../task/queries'
import type { Task } from '../task/types'
import { pullKey } from './fold'
import type { Check, NewPullComment, NewPullReview, Pull, PullComment, PullReview } from './types'

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

export const reviews = (repo: string, number: number) =>
  queryOptions({
    queryKey: [...pullKey(repo, number), 'reviews'] as const,
    queryFn: () => callList<PullReview>(`${at(repo, number)}/reviews`),
    retry: false,
  })

/** Says something where the pull lives. */
export const comment = (repo: string, number: number, body: NewPullComment) =>
  callJson<PullComment>(`${at(repo, number)}/comments`, { method: 'POST', body })

/** Judges a pull where it lives. */
export const judge = (repo: string, number: number, body: NewPullReview) =>
  callJson<PullReview>(`${at(repo, number)}/reviews`, { method: 'POST', body })

/** Merges a pull as it was looked at: one that has moved since is refused. */
export const merge = ({ repo, number, head_commit: head }: Pull) =>
  callJson<Pull>(`${at(repo, number)}/merge`, { method: 'POST', body: { head } })

export type PullVerb = 'close' | 'reopen' | 'ready' | 'draft'

export const change = ({ repo, number }: Pull, verb: PullVerb) =>
  callJson<Pull>(`${at(repo, number)}/${verb}`, { method: 'POST' })

/** The pulls of a repository that are open. */
export const openPulls = (repo: string) =>
  queryOptions({
    queryKey: ['open-pulls', repo] as const,
    queryFn: () => callList<Pull>(`/api/v1/pulls?repo=${encodeURIComponent(repo)}&state=open`, 200),
  })

/** What a pull changes. */
export const diffOf = (pull: Pull): DiffPlace => ({
  key: [...pullKey(pull.repo, pull.number), 'diff', pull.head_commit, pull.phase],
  address: `${at(pull.repo, pull.number)}/diff`,
})

/** The pull of a task as it was last seen; nothing while it has none. */
export function usePull(task: Task): Pull | undefined {
  const number = task.pull?.number
  return useQuery({ ...pull(task.repo, number ?? 0), enabled: number !== undefined }).data
}

/** The checks of a task's pull; none while it has no pull. */
export function useChecks(task: Task): readonly Check[] {
  const number = task.pull?.number
  return useQuery({ ...checks(task.repo, number ?? 0), enabled: number !== undefined }).data ?? NONE
}

/** What was said at a task's pull, by whomever and wherever. */
export function useRemarks(task: Task): readonly PullComment[] {
  const number = task.pull?.number
  return useQuery({ ...comments(task.repo, number ?? 0), enabled: number !== undefined }).data ?? NONE
}

/** What people think of a task's pull. */
export function useVerdicts(task: Task): readonly PullReview[] {
  const number = task.pull?.number
  return useQuery({ ...reviews(task.repo, number ?? 0), enabled: number !== undefined }).data ?? NONE
}

const NONE: readonly never[] = []
