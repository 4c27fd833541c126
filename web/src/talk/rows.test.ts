import { describe, expect, it } from 'vitest'
import { aMoment } from '../task/sample'
import type { Moment, ToolUse } from '../task/types'
import { rows, summary, toolWords } from './rows'

const tool = (seq: number, name: string, more: Partial<ToolUse> = {}): Moment =>
  aMoment({ seq, kind: 'tool', tool: { id: `${seq}`, name, title: '', ...more } })
const say = (seq: number): Moment => aMoment({ seq })

describe('a conversation as rows', () => {
  it('folds neighbouring tool calls into one', () => {
    const list = rows([say(1), tool(2, 'read'), tool(3, 'read'), tool(4, 'run'), say(5), tool(6, 'edit')])
    expect(list.map((row) => (row.kind === 'tools' ? row.moments.length : row.moment.kind))).toEqual([
      'message',
      3,
      'message',
      'tool',
    ])
  })

  it('keeps the name of a row when it grows, so that what was opened stays open', () => {
    const before = rows([say(1), tool(2, 'read'), tool(3, 'read')])
    const after = rows([say(1), tool(2, 'read'), tool(3, 'read'), tool(4, 'run')])
    expect(after.map((row) => row.key)).toEqual(before.map((row) => row.key))
  })

  it('says in a few words what was done', () => {
    expect(summary([tool(1, 'read'), tool(2, 'read'), tool(3, 'run')])).toBe('read ×2 · run')
    expect(toolWords(tool(1, 'run', { title: 'Run the tests' }))).toBe('Run the tests')
    expect(toolWords(tool(1, 'run', { input: { command: 'make' } }))).toBe('run make')
    expect(toolWords(tool(1, 'run', { input: {} }))).toBe('run')
  })
})
