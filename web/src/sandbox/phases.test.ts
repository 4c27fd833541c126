import { describe, expect, it } from 'vitest'
import { count, limitsInWords, passes, possible } from './phases'
import { aSandbox } from './sample'

describe('the filter', () => {
  const sandbox = aSandbox({
    id: 'k3x9',
    phase: 'preparing',
    agent_id: 'claude',
    task_id: 142,
    metadata: { team: 'Search' },
  })

  it.each([
    ['all', '', true],
    ['starting', '', true],
    ['ready', '', false],
    ['all', 'K3X', true],
    ['all', 'task-142', true],
    ['all', 'claude search', true],
    ['all', 'team=search', true],
    ['all', 'claude codex', false],
  ] as const)('of group %s and text "%s" lets it pass: %s', (group, text, expected) => {
    expect(passes(sandbox, { group, text })).toBe(expected)
  })

  it('counts the living by group and leaves out the gone', () => {
    const counts = count([sandbox, aSandbox(), aSandbox({ phase: 'requested' }), aSandbox({ phase: 'gone' })])
    expect(counts).toMatchObject({ all: 3, starting: 2, ready: 1, closing: 0 })
  })
})

describe('what can be asked', () => {
  it('is pausing only where the provider can pause', () => {
    expect(possible(aSandbox(), ['pause']).pause).toBe(true)
    expect(possible(aSandbox(), []).pause).toBe(false)
  })

  it('is nothing once it is wanted gone', () => {
    expect(possible(aSandbox({ want: 'gone' }), ['pause'])).toEqual({
      pause: false,
      resume: false,
      extend: false,
      destroy: false,
    })
  })

  it('is resuming when paused', () => {
    expect(possible(aSandbox({ phase: 'paused', want: 'paused' }), ['pause'])).toMatchObject({
      pause: false,
      resume: true,
    })
  })
})

it('limits read in whole units', () => {
  expect(limitsInWords({ cpus: 0.5, memory_mb: 512, disk_mb: 10_240, pids: 100 })).toBe(
    '0.5 cpu · 512 MB · 10 GB disk',
  )
})
