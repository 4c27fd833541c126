import { describe, expect, it } from 'vitest'
import type { Agent } from '../task/types'
import { BLANK, draftOf, read } from './draft'

describe('an agent as it is typed', () => {
  it('is named after its dialect when it has no name, and the rest is left to the house', () =>
    expect(read(BLANK)).toEqual({ body: { name: 'claude', dialect: 'claude' }, errors: {} }))

  it('takes everything that was said', () =>
    expect(
      read({
        name: ' reviewer ',
        dialect: 'shell',
        command: 'make review\n',
        model: '',
        template: 'node-22',
        atOnce: '3',
        env: 'LEVEL=high\nURL=http://example.org/?a=b\n',
      }).body,
    ).toEqual({
      name: 'reviewer',
      dialect: 'shell',
      command: 'make review',
      template: 'node-22',
      at_once: 3,
      env: { LEVEL: 'high', URL: 'http://example.org/?a=b' },
    }))

  it('says at the field what is wrong with it', () => {
    expect(read({ ...BLANK, atOnce: 'many' }).errors.at_once).toBeTruthy()
    expect(read({ ...BLANK, atOnce: '0' }).errors.at_once).toBeTruthy()
    expect(read({ ...BLANK, env: 'no equals sign' }).errors.env).toContain('NAME=value')
  })

  it('that is changed does not lose its environment unnoticed: values want to be written again', () => {
    const agent = {
      name: 'writer',
      dialect: 'shell',
      command: 'true',
      env_names: ['TOKEN'],
      at_once: 2,
    } as unknown as Agent
    const draft = draftOf(agent)
    expect(draft).toMatchObject({ name: 'writer', command: 'true', atOnce: '2', env: 'TOKEN=' })
    expect(read(draft).errors.env).toContain('TOKEN')
    expect(read({ ...draft, env: '' })).toMatchObject({ errors: {}, body: { name: 'writer' } })
  })
})
