import { describe, expect, it } from 'vitest'
import { aTask } from '../task/sample'
import { parse, percentile, seconds, total } from './numbers'
import { work } from './work'

const TEXT = `# HELP carrel_sandboxes How many.
# TYPE carrel_sandboxes gauge
carrel_sandboxes{phase="ready",provider="local"} 3
carrel_sandboxes{phase="ready",provider="e2b"} 2
carrel_sandboxes{phase="paused",provider="local"} 1
odd{say="a \\"b\\" \\\\ c"} 1.5e3
step_bucket{step="create",le="0.1"} 50
step_bucket{step="create",le="0.2"} 90
step_bucket{step="create",le="+Inf"} 100
quick{quantile="0.5"} 0.25
`

describe('the numbers', () => {
  const samples = parse(TEXT)

  it('are read with their labels', () => {
    expect(samples).toHaveLength(8)
    expect(samples.find((it) => it.name === 'odd')).toEqual({
      name: 'odd',
      labels: { say: 'a "b" \\ c' },
      value: 1500,
    })
  })

  it('add up over what was not asked for', () => {
    expect(total(samples, 'carrel_sandboxes', { phase: 'ready' })).toBe(5)
    expect(total(samples, 'nothing')).toBeUndefined()
  })

  it('have percentiles, from buckets and from quantiles', () => {
    expect(percentile(samples, 'step', 0.5, { step: 'create' })).toBeCloseTo(0.1)
    expect(percentile(samples, 'step', 0.7, { step: 'create' })).toBeCloseTo(0.15)
    expect(percentile(samples, 'step', 0.99, { step: 'create' })).toBe(0.2)
    expect(percentile(samples, 'quick', 0.5)).toBe(0.25)
    expect(percentile(samples, 'step', 0.5, { step: 'other' })).toBeUndefined()
  })

  it.each([
    [undefined, '–'],
    [0.000_2, '200 µs'],
    [0.041, '41 ms'],
    [1.44, '1.4 s'],
    [190, '3 min'],
  ])('%s s reads %s', (value, text) => expect(seconds(value)).toBe(text))
})

describe('the work', () => {
  it('is counted by days, by cost and by time', () => {
    const now = Date.parse('2026-03-10T12:00:00')
    const iso = (text: string) => new Date(Date.parse(text)).toISOString()
    const merged = (id: number, start: string, end: string, cost: number) =>
      aTask({ id, phase: 'merged', started_at: iso(start), ended_at: iso(end), cost_usd: cost })
    const told = work(
      [
        merged(1, '2026-03-10T10:00:00', '2026-03-10T10:10:00', 1),
        merged(2, '2026-03-09T10:00:00', '2026-03-09T10:30:00', 3),
        merged(3, '2026-03-10T08:00:00', '2026-03-10T09:00:00', 2),
        aTask({ id: 4, phase: 'queued' }),
        aTask({ id: 5, phase: 'closed', cost_usd: 4 }),
      ],
      now,
      3,
    )
    expect(told.perDay.map((it) => it.merges)).toEqual([0, 1, 2])
    expect(told.costPerMerge).toBe(2)
    expect(told.spent).toBe(10)
    expect([told.medianSeconds, told.slowSeconds]).toEqual([1800, 3600])
    expect([told.merged, told.queued]).toEqual([3, 1])
  })

  it('counts a merge on the day it is where the reader is', () => {
    const late = aTask({ phase: 'merged', ended_at: '2026-01-02T23:30:00Z' })
    const on = (zone: string) =>
      work([late], Date.parse('2026-01-03T12:00:00Z'), 3, zone).perDay.find((it) => it.merges > 0)?.day
    expect([on('UTC'), on('Asia/Tokyo')]).toEqual(['2026-01-02', '2026-01-03'])
  })
})
