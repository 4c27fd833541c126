import { describe, expect, it } from 'vitest'
import { BLANK, type Form, homeless, place, read } from './form'

const typed = (form: Partial<Form>) => read({ ...BLANK, ...form })

describe('the form for a new sandbox', () => {
  it('untouched asks for the host template and leaves the rest to the server', () => {
    expect(typed({})).toEqual({ body: { template: 'host' }, errors: {} })
  })

  it('says all it can say', () => {
    const { body, errors } = typed({
      provider: 'local',
      lifetime: '1h30m',
      auto_pause: true,
      cpus: '0.5',
      memory_mb: '512',
      mode: 'allow',
      allow: 'crates.io, *.npmjs.org\ngithub.com',
      metadata: [{ row: 1, name: 'team', value: 'search' }],
      env: [{ row: 1, name: 'CI', value: '1' }],
    })
    expect(errors).toEqual({})
    expect(body).toEqual({
      template: 'host',
      provider: 'local',
      timeout_s: 5400,
      auto_pause: true,
      limits: { cpus: 0.5, memory_mb: 512 },
      network: { mode: 'allow', allow: ['crates.io', '*.npmjs.org', 'github.com'] },
      metadata: { team: 'search' },
      env: { CI: '1' },
    })
  })

  it('names each field as the server would when it cannot be read', () => {
    const { errors } = typed({
      lifetime: 'soon',
      cpus: '-1',
      pids: '1.5',
      mode: 'allow',
      env: [{ row: 1, name: '', value: 'x' }],
      metadata: [
        { row: 1, name: 'a', value: '1' },
        { row: 2, name: 'a', value: '2' },
      ],
    })
    expect(Object.keys(errors).sort()).toEqual([
      'env',
      'limits.cpus',
      'limits.pids',
      'metadata',
      'network.allow',
      'timeout_s',
    ])
  })

  it('drops rows that were added and never filled', () => {
    expect(typed({ env: [{ row: 1, name: ' ', value: '' }] })).toEqual({
      body: { template: 'host' },
      errors: {},
    })
  })
})

describe("the server's complaints", () => {
  it('stand at the field they are about, and say which part of it', () => {
    expect(
      place({
        template: 'unknown',
        'limits.cpus': 'too many',
        'env.1A': 'begins with a digit',
        'network.allow[0]': 'no host',
      }),
    ).toEqual({
      template: 'unknown',
      'limits.cpus': 'too many',
      env: '1A: begins with a digit',
      'network.allow': '[0]: no host',
    })
  })

  it('are kept together when they are about the same field, and kept at all when about none', () => {
    const placed = place({ 'env.a-b': 'bad', 'env.c-d': 'bad', agent_id: 'unknown' })
    expect(placed.env).toBe('a-b: bad; c-d: bad')
    expect(homeless(placed)).toEqual([['agent_id', 'unknown']])
  })
})
