/** The published language of tasks and their conversations, as INTERFACE.md promises it. */

export type TaskPhase =
  | 'backlog'
  | 'queued'
  | 'preparing'
  | 'working'
  | 'publishing'
  | 'in_review'
  | 'needs_you'
  | 'merged'
  | 'closed'
  | 'failed'

export type Until = 'started' | 'in_review' | 'merged'

export interface Dependency {
  task_id: number
  until: Until
}

export interface TaskPull {
  number: number
  url?: string | null
  phase: string
}

export interface Conflict {
  /** The other; nothing for the base itself. */
  task_id?: number | null
  paths: string[]
}

export interface Needs {
  reason: string
  detail?: string | null
}

export interface Task {
  id: number
  repo: string
  title: string
  prompt?: string | null
  agent?: string | null
  base?: string | null
  priority: number
  labels: string[]
  depends_on: Dependency[]
  isolation?: string | null
  network?: { mode: string; allow?: string[] } | null
  budget_usd?: number | null
  phase: TaskPhase
  want?: 'rest' | 'review' | 'merged' | 'closed'
  note?: string | null
  fork_of?: number | null
  branch?: string | null
  session_id?: string | null
  sandbox_id?: string | null
  head?: string | null
  ahead?: number | null
  behind?: number | null
  pull?: TaskPull | null
  conflicts: Conflict[]
  needs?: Needs | null
  cost_usd?: number | null
  doing?: string | null
  created_at: string
  updated_at: string
  started_at?: string | null
  ended_at?: string | null
  revision?: number
}

export interface NewTask {
  repo: string
  title: string
  prompt?: string
  agent?: string
  base?: string
  start?: boolean
  priority?: number
  labels?: string[]
  depends_on?: Dependency[]
  isolation?: string
  network?: { mode: string; allow?: string[] }
  budget_usd?: number
}

export type Verb = 'start' | 'stop' | 'message' | 'retry' | 'rebase' | 'merge' | 'close' | 'fork'

export interface ToolUse {
  name: string
  title?: string | null
  input?: unknown
  output?: string | null
  ok?: boolean | null
}

export interface Moment {
  seq: number
  at: string
  kind: 'message' | 'tool' | 'checkpoint' | 'note' | 'thought' | 'question'
  role?: 'user' | 'agent' | 'house'
  text?: string | null
  tool?: ToolUse | null
  commit?: string | null
  files?: string[] | null
  cost_usd?: number | null
}

export interface Session {
  id: string
  agent?: string | null
  repo?: string | null
  title?: string | null
  phase: 'open' | 'idle' | 'closed'
  sandbox_id?: string | null
  task_id?: number | null
  busy?: boolean
  note?: string | null
  cost_usd?: number | null
  created_at: string
  updated_at: string
  revision?: number
}

export interface Agent {
  name: string
  dialect: string
  /** What it is, in a sentence. */
  about?: string
  command?: string | null
  model?: string | null
  env_names?: string[]
  template?: string | null
  at_once?: number | null
  /** It came with the house. */
  built_in?: boolean
  /** Whether its program is installed on this host. */
  found?: boolean
  /** How to get it, when it is not there. */
  hint?: string | null
  removed?: boolean
}
