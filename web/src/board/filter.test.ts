import { describe, expect, it } from 'vitest'
import { aTask } from '../task/sample'
import { choices, passes, readFilter } from './filter'

describe('the filter', () => {
  const task = aTask({ id: 42, title: 'Fix the login', labels: ['bug'], agent: 'claude', phase: 'in_review' })

  it('lets everything by when it is empty', () => expect(passes(task, {})).toBe(true))

  it.each(['task-42', 'fix login', 'LOGIN fix', 'bug', 'claude', 'in review', 'api'])('finds %s', (text) => {
    expect(passes(task, { text })).toBe(true)
  })

  it('wants every word', () => expect(passes(task, { text: 'fix logout' })).toBe(false))

  it('goes by repository, agent and label together', () => {
    expect(passes(task, { repo: 'api', agent: 'claude', label: 'bug' })).toBe(true)
    expect(passes(task, { repo: 'api', agent: 'codex', label: 'bug' })).toBe(false)
    expect(passes(task, { label: 'docs' })).toBe(false)
  })

  it('reads an address, and takes no more than it knows from it', () => {
    expect(readFilter({ repo: 'api', text: 42, label: '', evil: 'x', agent: { a: 1 } })).toEqual({
      repo: 'api',
      text: '42',
    })
  })

  it('offers each choice once, in order', () => {
    expect(choices([task, aTask({ repo: 'web', labels: ['bug', 'a11y'], agent: 'demo' })])).toEqual({
      repos: ['api', 'web'],
      agents: ['claude', 'demo'],
      labels: ['a11y', 'bug'],
    })
  })
})
