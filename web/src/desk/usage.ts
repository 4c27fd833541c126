/** What a sandbox uses, over the minutes that somebody looked. The server measures; what it was before is remembered here. */
import { queryOptions } from '@tanstack/react-query'
import { callJson } from '../api/call'
import type { StatsView } from '../api/types'

/** One measurement. */
export interface Use {
  /** Seconds since 1970. */
  at: number
  /** Processors in use since the measurement before; nothing at the first. */
  cpu: number | null
  memory: number | null
}

const EVERY_MS = 2_500
/** Half an hour of measurements. */
const MOST = 720

interface Kept {
  uses: readonly Use[]
  /** The counter of processor time, and when it stood there. */
  at: number
  cpu: number | null
}

const kept = new Map<string, Kept>()

/** Puts a measurement behind those before it. The counter only grows, unless the sandbox was made anew. */
export function follow(before: Kept | undefined, stats: Pick<StatsView, 'at' | 'usage'>): Kept {
  const at = Date.parse(stats.at) / 1000
  if (before && at <= before.at) return before
  const cpu = stats.usage.cpu_us ?? null
  const spent = cpu !== null && before?.cpu != null ? (cpu - before.cpu) / 1e6 : null
  const share = spent !== null && spent >= 0 && before ? spent / (at - before.at) : null
  const use = { at, cpu: share, memory: stats.usage.memory_bytes ?? null }
  return { uses: [...(before?.uses ?? []), use].slice(-MOST), at, cpu }
}

export const usage = (id: string) =>
  queryOptions({
    queryKey: ['usage-of', id],
    queryFn: async (): Promise<readonly Use[]> => {
      const stats = await callJson<StatsView>(`/api/v1/sandboxes/${encodeURIComponent(id)}/stats`)
      const now = follow(kept.get(id), stats)
      kept.set(id, now)
      return now.uses
    },
    initialData: () => kept.get(id)?.uses,
    refetchInterval: EVERY_MS,
    staleTime: 0,
    retry: false,
    structuralSharing: false,
  })
