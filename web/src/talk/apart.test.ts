import { expect, it } from 'vitest'
import { apart } from './apart'

const names = (...names: string[]) => apart(names.map((name) => new File(['x'], name))).map((it) => it.name)

it('gives files of one name names of their own, before their ending', () => {
  expect(names('image.png', 'image.png', 'image.png')).toEqual(['image.png', 'image-2.png', 'image-3.png'])
  expect(names('Makefile', 'Makefile')).toEqual(['Makefile', 'Makefile-2'])
  expect(names('.env', '.env')).toEqual(['.env', '.env-2'])
})

it('takes no name that another file has already', () => {
  expect(names('a.png', 'a-2.png', 'a.png')).toEqual(['a.png', 'a-2.png', 'a-3.png'])
})

it('leaves a file that is alone as it is, and keeps what is in the others', async () => {
  const file = new File(['one'], 'a.txt', { type: 'text/plain' })
  const [first, second] = apart([file, new File(['two'], 'a.txt', { type: 'text/plain' })])
  expect(first).toBe(file)
  expect([second?.type, await second?.text()]).toEqual(['text/plain', 'two'])
})
