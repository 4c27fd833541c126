import { describe, expect, it } from 'vitest'
import { nextFile } from './walk'

/** Files of a hundred lines each, seen from somewhere. */
const files = (from: number, held = -1) =>
  [0, 1, 2, 3].map((at) => ({ top: at * 100 - from, bottom: at * 100 + 100 - from, isHeld: at === held }))
const VIEW = { top: 0, bottom: 150 }

describe('the next file', () => {
  it('is the one after that which is held', () => {
    expect(nextFile(files(0, 0), VIEW, 1)).toBe(1)
    expect(nextFile(files(100, 1), VIEW, -1)).toBe(0)
  })

  it('is counted from what can be seen once somebody scrolled away', () => {
    expect(nextFile(files(250, 0), VIEW, 1)).toBe(2)
    expect(nextFile(files(250, 0), VIEW, -1)).toBe(1)
  })

  it('is never past the ends', () => {
    expect(nextFile(files(300, 3), VIEW, 1)).toBe(3)
    expect(nextFile(files(0, 0), VIEW, -1)).toBe(0)
    expect(nextFile([], VIEW, 1)).toBe(-1)
  })
})
