import { describe, expect, it } from 'vitest'
import { codeIn, safeWish, understand } from './code'

describe('what people paste', () => {
  it.each([
    ['http://127.0.0.1:7070/app/sign-in#code=abc', { code: 'abc' }],
    ['  #code=abc ', { code: 'abc' }],
    ['crl_0123', { key: 'crl_0123' }],
    ['http://127.0.0.1:7070/app/sign-in#', undefined],
    ['   ', undefined],
  ])('%s', (text, understood) => {
    expect(understand(text)).toEqual(understood)
  })
})

it('a fragment without a code has none', () => {
  expect(codeIn('')).toBeUndefined()
  expect(codeIn('#code=')).toBeUndefined()
  expect(codeIn('#code=x%2By')).toBe('x+y')
})

it('a wish leads only to our own pages', () => {
  expect(safeWish('/sandboxes?group=ready')).toBe('/sandboxes?group=ready')
  for (const wish of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/sign-in',
    7,
    undefined,
  ]) {
    expect(safeWish(wish)).toBeUndefined()
  }
})
