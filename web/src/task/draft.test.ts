import { describe, expect, it } from 'vitest'
import { BLANK, issueIn, read, titleAndPrompt } from './draft'

describe('one sentence', () => {
  it('is the title, and needs no prompt', () => {
    expect(titleAndPrompt('  Fix the login \n')).toEqual({ title: 'Fix the login' })
  })

  it('that goes on is the title and the whole of it the prompt', () => {
    expect(titleAndPrompt('Fix the login\n\nIt fails at night.')).toEqual({
      title: 'Fix the login',
      prompt: 'Fix the login\n\nIt fails at night.',
    })
  })

  it('that is long is cut at a word and kept whole in the prompt', () => {
    const long = `Make ${'the thing '.repeat(20)}better`
    const { title, prompt } = titleAndPrompt(long)
    expect(title.length).toBeLessThanOrEqual(101)
    expect(title).toMatch(/ (the|thing)…$/)
    expect(prompt).toBe(long)
  })

  it('that is the address of an issue is named after it', () => {
    expect(titleAndPrompt('https://github.com/acme/api/issues/12')).toEqual({
      title: 'Resolve acme/api#12',
      prompt: 'https://github.com/acme/api/issues/12',
    })
    expect(issueIn('see https://gitlab.com/a/b/-/issues/3 please')?.name).toBe('a/b#3')
    expect(issueIn('https://github.com/acme/api/pull/12')).toBeUndefined()
  })
})

describe('a draft', () => {
  const whole = { ...BLANK, text: 'Fix it', repo: 'api' }

  it('leaves to the server what was left empty', () => {
    expect(read(whole)).toEqual({ body: { repo: 'api', title: 'Fix it', start: true }, errors: {} })
  })

  it('takes everything that was said', () => {
    const { body, errors } = read({
      ...whole,
      agent: 'claude',
      budget: '$2,50',
      priority: '3',
      labels: 'bug, login bug',
      network: 'allow',
      allow: 'crates.io',
      after: [{ task_id: 4, until: 'merged' }],
      start: false,
    })
    expect(errors).toEqual({})
    expect(body).toEqual({
      repo: 'api',
      title: 'Fix it',
      start: false,
      agent: 'claude',
      budget_usd: 2.5,
      priority: 3,
      labels: ['bug', 'login'],
      network: { mode: 'allow', allow: ['crates.io'] },
      depends_on: [{ task_id: 4, until: 'merged' }],
    })
  })

  it('says at the field what is wrong with it', () => {
    const { errors } = read({ ...BLANK, budget: 'much', priority: '1.5', network: 'allow' })
    expect(Object.keys(errors).sort()).toEqual(['budget_usd', 'network', 'priority', 'repo', 'text'])
  })
})
