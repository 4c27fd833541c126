/** What the tasks themselves tell of how work goes. */
import { deal } from '../board/columns'
import type { Task } from '../task/types'
import { zoneChosen } from '../ui/zone'

const DAY_MS = 86_400_000

export interface Work {
  merged: number
  /** Merges on each of the last days, oldest first. */
  perDay: { day: string; merges: number }[]
  /** What a merged pull cost, on average. */
  costPerMerge: number | undefined
  spent: number
  /** From its start to its end: the middle one of those merged, and the one that nineteen of twenty are not slower than. */
  medianSeconds: number | undefined
  slowSeconds: number | undefined
  /** The one that ninety-nine of a hundred are not slower than. */
  slowestSeconds: number | undefined
  queued: number
  working: number
  needy: number
  inReview: number
}

export function work(
  tasks: readonly Task[],
  now: number,
  days = 14,
  zone: string | undefined = zoneChosen(),
): Work {
  const dayOf = dayIn(zone)
  const columns = deal(tasks)
  const merged = tasks.filter((task) => task.phase === 'merged')
  const counts = new Map<string, number>()
  for (let back = days - 1; back >= 0; back -= 1) counts.set(dayOf(now - back * DAY_MS), 0)
  for (const task of merged) {
    const day = dayOf(Date.parse(task.ended_at ?? task.updated_at))
    const before = counts.get(day)
    if (before !== undefined) counts.set(day, before + 1)
  }
  const spent = tasks.reduce((sum, task) => sum + (task.cost_usd ?? 0), 0)
  const spentOnMerged = merged.reduce((sum, task) => sum + (task.cost_usd ?? 0), 0)
  const durations = merged
    .flatMap((task) =>
      task.started_at && task.ended_at
        ? [(Date.parse(task.ended_at) - Date.parse(task.started_at)) / 1000]
        : [],
    )
    .sort((a, b) => a - b)
  return {
    merged: merged.length,
    perDay: [...counts].map(([day, merges]) => ({ day, merges })),
    costPerMerge: merged.length > 0 ? spentOnMerged / merged.length : undefined,
    spent,
    medianSeconds: durations[Math.floor((durations.length - 1) / 2)],
    slowSeconds: durations[Math.max(0, Math.ceil(durations.length * 0.95) - 1)],
    slowestSeconds: durations[Math.max(0, Math.ceil(durations.length * 0.99) - 1)],
    queued: columns.queued.length,
    working: columns.working.length,
    needy: columns.needs_you.length,
    inReview: columns.in_review.length,
  }
}

/** A day as the calendar has it where the reader is, or wants to be. */
function dayIn(zone: string | undefined): (at: number) => string {
  // Canadians write a date as we want it: 2026-01-31.
  const calendar = new Intl.DateTimeFormat('en-CA', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    ...(zone ? { timeZone: zone } : {}),
  })
  return (at) => calendar.format(at)
}
