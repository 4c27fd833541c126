/** A task, and a word of its conversation, for tests to bend. */
import type { Moment, Task } from './types'

export function aTask(bent: Partial<Task> = {}): Task {
  return {
    id: 1,
    repo: 'api',
    title: 'Fix the flaky login test',
    prompt: 'Fix the flaky login test',
    agent: 'demo',
    base: 'main',
    branch: `task-${bent.id ?? 1}`,
    priority: 0,
    labels: [],
    depends_on: [],
    network: { mode: 'none', allow: [] },
    want: 'rest',
    phase: 'backlog',
    session_id: 'ses-1',
    ahead: 0,
    behind: 0,
    conflicts: [],
    cost_usd: 0,
    created_by: 'key-1',
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    attempts: 0,
    revision: 1,
    ...bent,
  }
}

export function aMoment(bent: Partial<Moment> = {}): Moment {
  return {
    seq: 1,
    at: '2026-01-01T00:00:00Z',
    turn: 1,
    kind: 'message',
    role: 'agent',
    text: 'A word',
    ...bent,
  }
}
