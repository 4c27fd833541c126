/** A sandbox for tests to bend. */
import type { SandboxView } from '../api/types'

export function aSandbox(bent: Partial<SandboxView> = {}): SandboxView {
  return {
    id: 'sbx-1',
    phase: 'ready',
    want: 'ready',
    status: 'running',
    note: null,
    template: 'host',
    provider: 'local',
    isolation: 'namespace',
    agent_id: null,
    task_id: null,
    env_names: [],
    metadata: {},
    limits: { cpus: 2, memory_mb: 2048, disk_mb: 8192, pids: 512 },
    network: { mode: 'none', allow: [] },
    timeout_s: 3600,
    auto_pause: false,
    created_by: 'key-1',
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    ready_at: '2026-01-01T00:00:01Z',
    expires_at: '2026-01-01T01:00:00Z',
    ended: null,
    attempts: 1,
    next_attempt_at: null,
    revision: 1,
    ...bent,
  }
}
