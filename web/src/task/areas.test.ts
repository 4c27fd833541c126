import { describe, expect, it } from 'vitest'
import { claimsAt } from './Areas'
import { aTask } from './sample'

describe('what a task has claimed', () => {
  it('is shown until it ends by itself', () => {
    const claim = (token: number, until: string) => ({ token, paths: ['src/'], until })
    const task = aTask({ claims: [claim(1, '2026-01-01T00:00:00Z'), claim(2, '2026-01-01T01:00:00Z')] })
    const at = (text: string) => claimsAt(task, Date.parse(text)).map((it) => it.token)
    expect(at('2025-12-31T23:59:59Z')).toEqual([1, 2])
    expect(at('2026-01-01T00:00:00Z')).toEqual([2])
    expect(at('2026-01-01T02:00:00Z')).toEqual([])
  })
})
