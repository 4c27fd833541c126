import { expect, it } from 'vitest'
import type { Session } from '../task/types'
import { matching } from './filter'

const named = (id: string, title: string) => ({ id, title }) as Session
const all = [named('3', 'The lamp'), named('2', 'A talk'), named('1', 'Of LAMPS and moths')]

it('lists all when nothing is looked for', () => {
  expect(matching(all, [], '  ')).toBe(all)
})

it('finds by title, in any letters, and by what was said, each once and in order', () => {
  const found = [named('3', 'The lamp'), named('2', 'A talk'), named('0', 'An old one')]
  expect(matching(all, found, 'lamp').map((it) => it.id)).toEqual(['3', '2', '1', '0'])
  expect(matching(all, [], 'lamp').map((it) => it.id)).toEqual(['3', '1'])
  expect(matching(all, [], 'nothing')).toEqual([])
})
