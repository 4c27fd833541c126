import { describe, expect, it } from 'vitest'
import { Chord } from './chords'

describe('a chord', () => {
  it('goes to a place by g and its letter', () => {
    const chord = new Chord()
    expect(chord.hear('g', 5_000)).toBeUndefined()
    expect(chord.hear('x', 5_300)?.to).toBe('/sandboxes')
  })

  it('is not begun by the page having just been loaded', () => {
    expect(new Chord().hear('x', 200)).toBeUndefined()
  })

  it('is forgotten after a while, after another key, and once it was played', () => {
    const chord = new Chord()
    chord.hear('g', 0)
    expect(chord.hear('x', 2_000)).toBeUndefined()
    chord.hear('g', 3_000)
    chord.hear('q', 3_100)
    expect(chord.hear('x', 3_200)).toBeUndefined()
    chord.hear('g', 4_000)
    chord.hear('x', 4_100)
    expect(chord.hear('x', 4_200)).toBeUndefined()
  })
})
