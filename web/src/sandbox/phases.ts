/** How a phase looks and which of them go together. */
import type { Phase, SandboxView } from '../api/types'
import { t } from '../words/words'

export interface Look {
  word: string
  /** Text, dot and background, as Tailwind sees them. */
  text: string
  dot: string
  wash: string
  /** On the way to somewhere else. */
  isMoving: boolean
}

export const LOOKS: Record<Phase, Look> = {
  requested: {
    word: t('Requested'),
    text: 'text-brass',
    dot: 'bg-brass',
    wash: 'bg-brass-wash',
    isMoving: true,
  },
  preparing: {
    word: t('Preparing'),
    text: 'text-brass',
    dot: 'bg-brass',
    wash: 'bg-brass-wash',
    isMoving: true,
  },
  ready: { word: t('Ready'), text: 'text-lamp', dot: 'bg-lamp', wash: 'bg-lamp-wash', isMoving: false },
  paused: {
    word: t('Paused'),
    text: 'text-slate',
    dot: 'bg-slate',
    wash: 'bg-slate-wash',
    isMoving: false,
  },
  closing: { word: t('Closing'), text: 'text-clay', dot: 'bg-clay', wash: 'bg-clay-wash', isMoving: true },
  gone: { word: t('Gone'), text: 'text-faint', dot: 'bg-faint', wash: 'bg-well', isMoving: false },
  failed: {
    word: t('Failed'),
    text: 'text-oxblood',
    dot: 'bg-oxblood',
    wash: 'bg-oxblood-wash',
    isMoving: false,
  },
}

export const GROUPS = ['all', 'ready', 'starting', 'paused', 'closing', 'failed'] as const
export type Group = (typeof GROUPS)[number]

export const GROUP_LABELS: Record<Group, string> = {
  all: t('All'),
  ready: t('Ready'),
  starting: t('Starting'),
  paused: t('Paused'),
  closing: t('Closing'),
  failed: t('Failed'),
}

const GROUP_OF: Record<Phase, Group | undefined> = {
  requested: 'starting',
  preparing: 'starting',
  ready: 'ready',
  paused: 'paused',
  closing: 'closing',
  failed: 'failed',
  gone: 'closing',
}

export interface Filter {
  group: Group
  text: string
}

/** Whether a sandbox passes the filter: every word typed must stand somewhere in it. */
export function passes(sandbox: SandboxView, filter: Filter): boolean {
  if (filter.group !== 'all' && GROUP_OF[sandbox.phase] !== filter.group) return false
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const page = [
    sandbox.id,
    sandbox.phase,
    sandbox.template,
    sandbox.provider,
    sandbox.isolation,
    sandbox.agent_id,
    sandbox.task_id == null ? null : `task-${sandbox.task_id}`,
    sandbox.note,
    ...Object.entries(sandbox.metadata).map(([name, value]) => `${name}=${value}`),
  ]
    .filter(Boolean)
    .join('\n')
    .toLowerCase()
  return words.every((word) => page.includes(word))
}

/** How many of the living are in each group. */
export function count(sandboxes: readonly SandboxView[]): Record<Group, number> {
  const counts: Record<Group, number> = { all: 0, ready: 0, starting: 0, paused: 0, closing: 0, failed: 0 }
  for (const sandbox of sandboxes) {
    if (sandbox.phase === 'gone') continue
    counts.all += 1
    const group = GROUP_OF[sandbox.phase]
    if (group) counts[group] += 1
  }
  return counts
}

/** What can be asked of a sandbox where it stands. The server has the last word. */
export function possible(sandbox: SandboxView, abilities: readonly string[]) {
  const isStaying = sandbox.want !== 'gone'
  const canPause = abilities.includes('pause')
  return {
    pause: canPause && isStaying && sandbox.phase === 'ready' && sandbox.want === 'ready',
    resume: canPause && isStaying && sandbox.phase === 'paused' && sandbox.want === 'paused',
    extend: isStaying && sandbox.phase !== 'gone' && sandbox.phase !== 'failed',
    destroy: isStaying && sandbox.phase !== 'gone',
  }
}

/** `2 cpu · 2 GB · 8 GB disk` */
export function limitsInWords(limits: SandboxView['limits']): string {
  return t('{cpus} cpu · {megabytes} · {megabytes2} disk', {
    cpus: limits.cpus,
    megabytes: megabytes(limits.memory_mb),
    megabytes2: megabytes(limits.disk_mb),
  })
}

export function megabytes(amount: number): string {
  if (amount < 1024) return t('{amount} MB', { amount })
  const gigabytes = amount / 1024
  return t('{what} GB', { what: Number.isInteger(gigabytes) ? gigabytes : gigabytes.toFixed(1) })
}
