/** What the numbers were while this page was open: enough to see a movement. */
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call } from '../api/call'
import { parse, percentile, type Sample, total } from './numbers'

export interface Point {
  at: number
  ready: number
  paused: number
  requests: number | null
  create: number | null
}

const EVERY_MS = 3_000
const MOST = 400
let points: Point[] = []
let before: { at: number; requests: number } | undefined

export function useNumbers(): {
  samples: Sample[] | undefined
  points: readonly Point[]
  error: Error | null
} {
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: ['numbers'],
    queryFn: async () => parse(await (await call('/metrics')).text()),
    refetchInterval: EVERY_MS,
    staleTime: 0,
    structuralSharing: false,
  })
  const [, redraw] = useState(0)
  useEffect(() => {
    if (!data || points.at(-1)?.at === dataUpdatedAt / 1000) return
    const requests = total(data, 'carrel_http_requests_total') ?? 0
    const at = dataUpdatedAt / 1000
    const passed = before ? at - before.at : 0
    points = [
      ...points.slice(-MOST),
      {
        at,
        ready: total(data, 'carrel_sandboxes', { phase: 'ready' }) ?? 0,
        paused: total(data, 'carrel_sandboxes', { phase: 'paused' }) ?? 0,
        requests: before && passed > 0 ? Math.max(0, (requests - before.requests) / passed) : null,
        create: percentile(data, 'carrel_sandbox_step_seconds', 0.5, { step: 'create' }) ?? null,
      },
    ]
    before = { at, requests }
    redraw(at)
  }, [data, dataUpdatedAt])
  return { samples: data, points, error }
}
