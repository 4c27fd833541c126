/** What of the board is shown. It lives in the URL, so a view can be sent to somebody. */
import type { Task } from '../task/types'

export interface Filter {
  repo?: string
  agent?: string
  label?: string
  text?: string
}

export function readFilter(search: Record<string, unknown>): Filter {
  const filter: Filter = {}
  for (const name of ['repo', 'agent', 'label', 'text'] as const) {
    const value = search[name]
    if ((typeof value === 'string' || typeof value === 'number') && `${value}` !== '')
      filter[name] = `${value}`
  }
  return filter
}

export const isOpen = (filter: Filter) => !filter.repo && !filter.agent && !filter.label && !filter.text

/** Whether a task passes: every word typed must stand somewhere in it. */
export function passes(task: Task, filter: Filter): boolean {
  if (filter.repo && task.repo !== filter.repo) return false
  if (filter.agent && task.agent !== filter.agent) return false
  if (filter.label && !task.labels.includes(filter.label)) return false
  const words = (filter.text ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const page = [
    `task-${task.id}`,
    `#${task.pull?.number ?? ''}`,
    task.title,
    task.prompt,
    task.repo,
    task.agent,
    task.branch,
    task.doing,
    task.phase.replace('_', ' '),
    ...task.labels,
  ]
    .join('\n')
    .toLowerCase()
  return words.every((word) => page.includes(word))
}

/** What there is to choose from, each once and in order. */
export function choices(tasks: readonly Task[]): { repos: string[]; agents: string[]; labels: string[] } {
  const sorted = (values: Iterable<string>) => [...new Set(values)].sort((a, b) => a.localeCompare(b))
  return {
    repos: sorted(tasks.map((task) => task.repo)),
    agents: sorted(tasks.flatMap((task) => (task.agent ? [task.agent] : []))),
    labels: sorted(tasks.flatMap((task) => task.labels)),
  }
}
