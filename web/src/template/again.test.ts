import { expect, it } from 'vitest'
import type { TemplateView } from '../api/types'
import { askedAgain } from './again'

const template = (source: unknown, created_by: string | null = 'key_1') =>
  ({
    name: 'tools',
    provider: 'local',
    phase: 'failed',
    memory: false,
    revision: 1,
    source,
    created_by,
  }) as unknown as TemplateView

it('says the same wish again, at the same place', () => {
  expect(askedAgain(template({ from: 'recipe', recipe: 'FROM host' }))).toEqual({
    name: 'tools',
    provider: 'local',
    from: 'recipe',
    recipe: 'FROM host',
  })
})

it('has nothing to say of what was uploaded, brought along or copied from a sandbox', () => {
  expect(askedAgain(template({ from: 'archive' }))).toBeUndefined()
  expect(askedAgain(template({ from: 'sandbox' }))).toBeUndefined()
  expect(askedAgain(template(undefined))).toBeUndefined()
  expect(askedAgain(template({ from: 'host' }, null))).toBeUndefined()
})
