/** A task for tests to bend. */
import type { Task } from './types'

export function aTask(bent: Partial<Task> = {}): Task {
  return {
    id: 1,
    repo: 'api',
    title: 'Fix the flaky login test',
    prompt: null,
    agent: 'demo',
    base: 'main',
    priority: 0,
    labels: [],
    depends_on: [],
    phase: 'backlog',
    conflicts: [],
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    revision: 1,
    ...bent,
  }
}
