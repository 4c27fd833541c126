import { describe, expect, it } from 'vitest'
import { phrases, words } from './change'

describe('what is typed into the rules', () => {
  it('is words, apart by spaces or commas', () =>
    expect(words('  src/** , .github/**\nLICENSE ')).toEqual(['src/**', '.github/**', 'LICENSE']))
  it('is phrases, apart by commas alone', () =>
    expect(phrases(' good first issue, carrel,, ')).toEqual(['good first issue', 'carrel']))
  it('is nothing when nothing was typed', () => expect([words(' '), phrases('')]).toEqual([[], []]))
})
