import { describe, expect, it } from 'vitest'
import { follow } from './usage'

const stats = (second: number, cpu: number | null, memory: number | null = 1000) => ({
  at: new Date(second * 1000).toISOString(),
  usage: { cpu_us: cpu, memory_bytes: memory },
})

describe('what a sandbox uses', () => {
  it('is the growth of the counter over the time that passed', () => {
    let kept = follow(undefined, stats(10, 1_000_000))
    kept = follow(kept, stats(12, 4_000_000))
    expect(kept.uses.map((it) => it.cpu)).toEqual([null, 1.5])
  })

  it('is not known where the counter went back, for it is another sandbox then', () => {
    let kept = follow(undefined, stats(10, 9_000_000))
    kept = follow(kept, stats(12, 1_000_000))
    kept = follow(kept, stats(13, 1_500_000))
    expect(kept.uses.map((it) => it.cpu)).toEqual([null, null, 0.5])
  })

  it('is counted once, however often it is told', () => {
    const first = follow(undefined, stats(10, 0))
    expect(follow(first, stats(10, 0))).toBe(first)
  })

  it('goes on without what the provider cannot measure', () => {
    let kept = follow(undefined, stats(1, null, null))
    kept = follow(kept, stats(2, null, 5))
    expect(kept.uses).toEqual([
      { at: 1, cpu: null, memory: null },
      { at: 2, cpu: null, memory: 5 },
    ])
  })
})
