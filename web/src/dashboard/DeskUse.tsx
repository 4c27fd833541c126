/** Processor and memory of each desk, measured while somebody looks. */
import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { callJson } from '../api/call'
import type { SandboxView, StatsView } from '../api/types'
import { bytes } from '../ui/money'

interface Seen {
  at: number
  cpu: number
}

export function DeskUse({ sandboxes }: { sandboxes: readonly SandboxView[] }) {
  const stats = useQueries({
    queries: sandboxes.map((it) => ({
      queryKey: ['stats', it.id],
      queryFn: () => callJson<StatsView>(`/api/v1/sandboxes/${encodeURIComponent(it.id)}/stats`),
      refetchInterval: 4_000,
      staleTime: 0,
      retry: false,
    })),
  })
  const last = useRef(new Map<string, Seen>())
  const [share, setShare] = useState<Record<string, number>>({})
  const marks = stats.map((it) => it.data?.at ?? '').join()

  // biome-ignore lint/correctness/useExhaustiveDependencies: `marks` changes exactly when there is something new to count
  useEffect(() => {
    const next: Record<string, number> = {}
    for (const { data } of stats) {
      const cpu = data?.usage.cpu_us
      if (!data || cpu == null) continue
      const at = Date.parse(data.at)
      const before = last.current.get(data.sandbox_id)
      if (before && at > before.at) next[data.sandbox_id] = (cpu - before.cpu) / 1000 / (at - before.at)
      last.current.set(data.sandbox_id, { at, cpu })
    }
    if (Object.keys(next).length > 0) setShare((now) => ({ ...now, ...next }))
  }, [marks])

  return (
    <ul className="grid gap-x-8 gap-y-3 md:grid-cols-2">
      {sandboxes.map((sandbox, at) => {
        const usage = stats[at]?.data?.usage
        const cpu = share[sandbox.id]
        const memory = usage?.memory_bytes ?? undefined
        return (
          <li key={sandbox.id} className="min-w-0">
            <p className="flex items-baseline gap-3">
              <Link
                to="/sandboxes/$id"
                params={{ id: sandbox.id }}
                className="min-w-0 flex-1 truncate font-mono text-small underline-offset-4 hover:underline"
              >
                {sandbox.task_id == null ? sandbox.id : `task-${sandbox.task_id}`}
              </Link>
              <span className="text-small text-faint">
                {cpu === undefined ? '–' : `${Math.round(cpu * 100)} % cpu`} ·{' '}
                {memory === undefined ? '–' : bytes(memory)}
              </span>
            </p>
            <Bar part={(cpu ?? 0) / Math.max(0.1, sandbox.limits.cpus)} tone="bg-brass" />
            <Bar part={(memory ?? 0) / (sandbox.limits.memory_mb * 1024 * 1024)} tone="bg-slate" />
          </li>
        )
      })}
    </ul>
  )
}

function Bar({ part, tone }: { part: number; tone: string }) {
  return (
    <span aria-hidden className="mt-1 block h-1 overflow-hidden rounded-full bg-well">
      <span
        className={`block h-full rounded-full transition-[width] duration-500 ${tone}`}
        style={{ width: `${Math.min(100, Math.max(0, part * 100))}%` }}
      />
    </span>
  )
}
