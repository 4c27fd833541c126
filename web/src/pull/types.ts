/** Pull requests, as the published language has them. */

export type CheckState = 'skipped' | 'passed' | 'pending' | 'failed'

export interface Pull {
  repo: string
  number: number
  forge: string
  url: string
  title: string
  task_id?: number | null
  head_commit: string
  base: string
  phase: 'open' | 'checking' | 'mergeable' | 'conflicted' | 'merged' | 'closed'
  draft: boolean
  checks?: CheckState | null
  verdict?: 'approved' | 'changes_requested' | 'commented' | 'dismissed' | null
  updated_at: string
  revision: number
}

export interface Check {
  name: string
  state: CheckState
  summary?: string | null
  url?: string | null
  at?: string | null
}

export interface PullComment {
  id: string
  author: string
  body: string
  path?: string | null
  line?: number | null
  side?: 'old' | 'new' | null
  url: string
  created_at: string
}
