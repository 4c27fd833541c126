/** A conversation as rows: neighbouring tool calls become one row, so that a long turn stays short to read. */
import type { Moment } from '../task/types'

export type Row =
  | { key: string; kind: 'one'; moment: Moment }
  | { key: string; kind: 'tools'; moments: readonly Moment[] }

export function rows(moments: readonly Moment[]): Row[] {
  const list: Row[] = []
  let tools: Moment[] = []
  const close = () => {
    const first = tools[0]
    if (!first) return
    list.push(
      tools.length === 1
        ? { key: `${first.seq}`, kind: 'one', moment: first }
        : { key: `${first.seq}`, kind: 'tools', moments: tools },
    )
    tools = []
  }
  for (const moment of moments) {
    if (moment.kind === 'tool') {
      tools.push(moment)
      continue
    }
    close()
    list.push({ key: `${moment.seq}`, kind: 'one', moment })
  }
  close()
  return list
}

/** A tool call in a few words. */
export function toolWords(moment: Moment): string {
  const tool = moment.tool
  if (!tool) return moment.text ?? 'a tool'
  if (tool.title) return tool.title
  const input = tool.input
  if (typeof input === 'string') return `${tool.name} ${input}`
  if (input && typeof input === 'object') {
    const fields = input as Record<string, unknown>
    const subject = ['command', 'file_path', 'path', 'pattern', 'url', 'query']
      .map((name) => fields[name])
      .find((it) => typeof it === 'string')
    if (subject) return `${tool.name} ${subject as string}`
  }
  return tool.name
}

/** `read 4 · edit 2 · run 3` */
export function summary(moments: readonly Moment[]): string {
  const counts = new Map<string, number>()
  for (const moment of moments) {
    const name = moment.tool?.name ?? 'tool'
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(' · ')
}
