import { describe, expect, it } from 'vitest'
import { TASK_PHASES } from './phases'
import { aTask } from './sample'
import type { Task, TaskPhase } from './types'
import { possible, primary, question } from './verbs'

const inPhase = (phase: TaskPhase, bent: Partial<Task> = {}) => aTask({ id: 7, phase, ...bent })

describe('what can be asked of a task', () => {
  it('is something in every phase, and closing is offered until it is over', () => {
    for (const phase of TASK_PHASES) {
      const verbs = possible(inPhase(phase))
      expect(verbs.length, phase).toBeGreaterThan(0)
      expect(verbs.includes('close'), phase).toBe(phase !== 'merged' && phase !== 'closed')
    }
  })

  it('is a merge only in review, a stop only while somebody is at it or about to be', () => {
    expect(TASK_PHASES.filter((it) => possible(inPhase(it)).includes('merge'))).toEqual(['in_review'])
    expect(TASK_PHASES.filter((it) => possible(inPhase(it)).includes('stop'))).toEqual([
      'queued',
      'preparing',
      'working',
      'publishing',
    ])
  })
})

describe('the button that stands out', () => {
  it('asks for something that is possible, whatever the phase', () => {
    for (const phase of TASK_PHASES) {
      const next = primary(inPhase(phase))
      expect(next, phase).toBeDefined()
      if (next && next.verb !== 'answer' && next.verb !== 'review')
        expect(possible(inPhase(phase)), phase).toContain(next.verb)
    }
  })

  it('answers a question, rebases a conflict, goes on without what it waited for, and tries the rest again', () => {
    const next = (reason: NonNullable<Task['needs']>['reason']) =>
      primary(inPhase('needs_you', { needs: { reason, detail: 'x' } }))?.verb
    expect(next('question')).toBe('answer')
    expect(next('nothing_changed')).toBe('answer')
    expect(next('conflict')).toBe('rebase')
    expect(next('dependency')).toBe('start')
    for (const reason of ['agent_failed', 'checks_failed', 'budget', 'push_refused'] as const)
      expect(next(reason), reason).toBe('retry')
  })
})

describe('what is asked first', () => {
  it('is whether money may be spent, and how much of it', () => {
    expect(question(inPhase('backlog'), 'start', false)).toBeUndefined()
    expect(question(inPhase('backlog', { budget_usd: 2 }), 'start', true)?.detail).toContain('$2.00 at most')
    expect(question(inPhase('failed'), 'retry', true)?.detail).toContain('no budget')
  })

  it('is whether an agent may be sent away in the middle of a turn, and nobody else', () => {
    expect(question(inPhase('working'), 'stop', false)?.act).toBe('Stop')
    expect(question(inPhase('queued'), 'stop', false)).toBeUndefined()
  })

  it('names the pull that is merged, and the commits that closing leaves behind', () => {
    const pull = { number: 12, url: '/', phase: 'mergeable' as const }
    expect(question(inPhase('in_review', { pull }), 'merge', false)?.detail).toContain('#12')
    const close = (ahead: number) => question(inPhase('in_review', { ahead }), 'close', false)
    expect(close(3)).toMatchObject({ isGrave: true })
    expect(close(3)?.detail).toContain('Its 3 commits are not in main.')
    expect(close(1)?.detail).toContain('Its commit is not in main.')
    expect(close(0)?.detail).toBe('Its desk is cleared.')
  })

  it('is nothing for what costs nothing', () => {
    for (const verb of ['message', 'rebase', 'fork'] as const)
      expect(question(inPhase('in_review'), verb, true)).toBeUndefined()
  })
})
