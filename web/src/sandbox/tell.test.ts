import { describe, expect, it } from 'vitest'
import { aSandbox } from './sample'
import { tell } from './tell'

describe('an entry of the journal', () => {
  const requested = aSandbox({ phase: 'requested', expires_at: null })

  it.each([
    [undefined, requested, 'Asked for'],
    [requested, aSandbox({ ...requested, phase: 'preparing' }), 'Preparing'],
    [aSandbox({ attempts: 2 }), aSandbox({ attempts: 3, note: 'retrying' }), 'Attempt 3 failed'],
    [aSandbox(), aSandbox({ want: 'paused' }), 'Wanted paused'],
    [aSandbox({ phase: 'paused' }), aSandbox(), 'Resumed'],
    [aSandbox(), aSandbox({ timeout_s: 5400 }), 'Lifetime set to 1 h 30 min'],
    [aSandbox(), aSandbox({ phase: 'gone' }), 'Gone'],
    [aSandbox(), aSandbox({ note: 'slow' }), 'Noted'],
  ])('%#', (before, now, what) => {
    expect(tell(before, now).what).toBe(what)
  })

  it('gives the reason of an end before any other note', () => {
    const ended = { by: 'key-1', why: 'its lifetime was over', at: '2026-01-01T01:00:00Z' }
    expect(tell(aSandbox(), aSandbox({ phase: 'gone', note: 'old', ended })).why).toBe(
      'its lifetime was over',
    )
  })
})
