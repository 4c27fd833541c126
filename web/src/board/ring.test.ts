import { describe, expect, it } from 'vitest'
import { aTask } from '../task/sample'
import type { Task } from '../task/types'
import { ringOf } from './ring'

const pull = (phase: NonNullable<Task['pull']>['phase'], checks: 'failed' | 'passed' | null = null) => ({
  number: 7,
  url: '/app/pulls/sample/7',
  phase,
  checks,
})

describe('the ring of a card', () => {
  it('is red when a check failed, whatever else is true of the pull', () => {
    for (const phase of ['open', 'checking', 'mergeable', 'conflicted'] as const)
      expect(ringOf(aTask({ pull: pull(phase, 'failed') }))).toBe('failed')
  })

  it('is red when the check of the merge lane failed', () => {
    const needs = { reason: 'checks_failed' as const, detail: 'make test' }
    expect(ringOf(aTask({ pull: pull('mergeable'), needs }))).toBe('failed')
  })

  it('says otherwise where the pull is', () => {
    expect(ringOf(aTask({ pull: pull('open', 'passed') }))).toBe('open')
    expect(ringOf(aTask({ pull: pull('mergeable', 'passed') }))).toBe('mergeable')
  })

  it('is gone with the pull, and was never there without one', () => {
    expect(ringOf(aTask({}))).toBeUndefined()
    expect(ringOf(aTask({ pull: pull('merged', 'failed') }))).toBeUndefined()
    expect(ringOf(aTask({ pull: pull('closed') }))).toBeUndefined()
  })
})
