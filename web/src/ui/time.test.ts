import { describe, expect, it } from 'vitest'
import { age, clock, countdown, duration, exact, fractionLeft, parseDuration } from './time'

const now = Date.parse('2026-03-01T12:00:00Z')
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString()

describe('an age', () => {
  it.each([
    [0, 'now'],
    [-1, 'now'],
    [-42, '42 s'],
    [-59.9, '59 s'],
    [-60, '1 min'],
    [-3599, '59 min'],
    [-3600, '1 h'],
    [-86_399, '23 h'],
    [-12 * 86_400, '12 d'],
  ])('of %d seconds reads %s', (seconds, text) => {
    expect(age(at(seconds), now)).toBe(text)
  })

  it('is never negative, even when the clocks disagree', () => {
    expect(age(at(30), now)).toBe('now')
  })
})

describe('a countdown', () => {
  it.each([
    [42, '0:42'],
    [545, '9:05'],
    [725, '12 min'],
    [3599, '59 min'],
    [3600, '1 h 00'],
    [11_220, '3 h 07'],
    [187_200, '2 d 4 h'],
    [0.4, '0:01'],
  ])('of %d seconds reads %s', (seconds, text) => {
    expect(countdown(at(seconds), now)).toBe(text)
  })

  it('stops at zero', () => {
    expect(countdown(at(-5), now)).toBe('0:00')
    expect(fractionLeft(at(-5), 60, now)).toBe(0)
  })

  it('knows which part of a life is left', () => {
    expect(fractionLeft(at(30), 60, now)).toBe(0.5)
    expect(fractionLeft(at(90), 60, now)).toBe(1)
  })
})

describe('a duration', () => {
  it.each([
    [90, '90 s'],
    [900, '15 min'],
    [5400, '1 h 30 min'],
    [172_800, '2 d'],
  ])('of %d seconds reads %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text)
  })

  it.each([
    ['900', 900],
    ['90s', 90],
    ['15m', 900],
    ['15 min', 900],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['2 d', 172_800],
    ['', undefined],
    ['soon', undefined],
    ['-5m', undefined],
  ])('typed as "%s" means %s seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds)
  })
})

describe('an exact moment', () => {
  it('names the zone that it is told in', () => {
    expect(exact('2026-01-02T23:30:00Z', 'UTC')).toMatch(/2026.*(23|11):30:00.*UTC/)
    expect(exact('2026-01-02T23:30:00Z', 'Asia/Tokyo')).toMatch(/3.*8:30:00.*GMT\+9/)
    expect(clock(Date.parse('2026-01-02T23:30:00Z'), 'Asia/Tokyo')).toMatch(/8:30/)
  })
  it('that is none is shown as it came', () => expect(exact('soon', 'UTC')).toBe('soon'))
})
