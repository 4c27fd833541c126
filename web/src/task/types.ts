/** The published language of tasks and their conversations. All of it comes from `openapi.json`. */
import type { components } from '../api/schema'

type Schemas = components['schemas']

export type Task = Schemas['TaskView']
export type TaskPhase = Schemas['TaskPhase']
export type NewTask = Schemas['NewTask']
export type Dependency = Schemas['Dependency']
export type Until = Schemas['Until']
/** What a tool was given may be anything; the generated type knows only that it is an object. */
export type ToolUse = Omit<Schemas['ToolUse'], 'input'> & { input?: unknown }
export type Moment = Omit<Schemas['Moment'], 'tool'> & { tool?: ToolUse | null }
export type Session = Schemas['SessionView']
export type Agent = Schemas['AgentView']
export type NewAgent = Schemas['NewAgent']

/** What can be asked of a task. */
export type Verb = 'start' | 'stop' | 'message' | 'retry' | 'rebase' | 'merge' | 'close' | 'fork'
