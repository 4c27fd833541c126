import { expect, it } from 'vitest'
import { bytes, count, dollars } from './money'
import { stopwatch } from './time'

it.each([
  [undefined, undefined],
  [0, undefined],
  [0.004, '<$0.01'],
  [0.4, '$0.40'],
  [1204.4, '$1,204'],
])('%s dollars read %s', (amount, text) => expect(dollars(amount)).toBe(text))

it.each([
  [812, '812 B'],
  [14_200, '14 kB'],
  [3_100_000, '3.1 MB'],
])('%s bytes read %s', (amount, text) => expect(bytes(amount)).toBe(text))

it('one is one and more are more', () =>
  expect([count(1, 'task'), count(2, 'task')]).toEqual(['1 task', '2 tasks']))

it.each([
  [42, '0:42'],
  [725, '12:05'],
  [3_660, '1 h 01'],
  [100_000, '1 d 3 h'],
])('%s seconds at work read %s', (passed, text) => {
  const now = Date.parse('2026-01-02T00:00:00Z')
  expect(stopwatch(new Date(now - passed * 1000).toISOString(), now)).toBe(text)
})
