import { expect, it } from 'vitest'
import { afterLoad, heard } from './frame'

it('hears the threshold, and nothing else that a page may say', () => {
  expect(heard({ carrel: 'pass', held: true })).toBe('shown')
  expect(heard({ carrel: 'pass', held: false })).toBe('forgetful')
  expect(heard({ carrel: 'pass' })).toBe('forgetful')
  for (const other of [null, undefined, 'pass', 7, {}, { held: true }, ['pass']])
    expect(heard(other)).toBeUndefined()
})

it('takes a frame that loaded without a word for one whose name was not found', () => {
  expect(afterLoad('coming')).toBe('nameless')
  expect(afterLoad('shown')).toBe('shown')
  expect(afterLoad('forgetful')).toBe('forgetful')
})
