/** One task as a card. The whole card leads to its page; what stands on it is what is true of it now. */
import { useDraggable } from '@dnd-kit/core'
import { Link } from '@tanstack/react-router'
import { GitCompareArrows, GitPullRequest, Hand, Link2 } from 'lucide-react'
import { memo, useEffect, useRef, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import { useOpenConflicts } from '../task/conflicts'
import { useSandboxOf } from '../task/desk'
import { isBusy, isOver, needsInWords, TASK_LOOKS } from '../task/phases'
import type { Task } from '../task/types'
import { useReading } from '../ui/clock'
import { cx } from '../ui/cx'
import { Age } from '../ui/Moments'
import { dollars } from '../ui/money'
import { stopwatch } from '../ui/time'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { CardMenu } from './CardMenu'
import { ChecksRing } from './ChecksRing'

interface CardProps {
  task: Task
  isCurrent: boolean
  isChosen: boolean
  isHeld: boolean
  onCurrent(id: number): void
  onChoose(id: number): void
}

export const Card = memo(function Card({
  task,
  isCurrent,
  isChosen,
  isHeld,
  onCurrent,
  onChoose,
}: CardProps) {
  const { setNodeRef, listeners } = useDraggable({ id: task.id, data: task })
  const link = useRef<HTMLAnchorElement>(null)
  const [isMenuOpen, setMenuOpen] = useState(false)
  useEffect(() => {
    if (isCurrent && document.activeElement !== link.current) link.current?.focus({ preventScroll: true })
  }, [isCurrent])
  return (
    <article
      ref={setNodeRef}
      data-task={task.id}
      data-phase={task.phase}
      aria-label={`task-${task.id}`}
      aria-disabled={isHeld || undefined}
      {...listeners}
      onContextMenu={(event) => {
        event.preventDefault()
        setMenuOpen(true)
      }}
      onKeyDown={(event) => {
        if (event.key !== '.') return
        event.preventDefault()
        setMenuOpen(true)
      }}
      className={cx(
        'group relative touch-manipulation rounded-xl border bg-card shadow-card transition-[border-color,opacity] duration-150 hover:border-line-strong has-[a:focus-visible]:outline-2 has-[a:focus-visible]:outline-brass',
        isChosen
          ? 'border-lamp ring-1 ring-lamp'
          : task.phase === 'failed'
            ? 'border-oxblood/40'
            : 'border-line',
        task.phase === 'needs_you' && !isChosen && 'border-brass/50',
        isHeld && 'opacity-35',
      )}
    >
      <CardFace task={task} link={link} onFocus={() => onCurrent(task.id)} />
      <div className="absolute top-1.5 right-1.5 flex items-center rounded-lg bg-card opacity-0 transition-opacity group-hover:opacity-100 has-focus-visible:opacity-100 has-checked:opacity-100 has-[[data-state=open]]:opacity-100 max-md:opacity-100">
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={t('Select task-{id}', { id: task.id })}
          onChange={() => onChoose(task.id)}
          className="m-1 size-4 accent-(--lamp) max-md:hidden"
        />
        <CardMenu
          task={task}
          isOpen={isMenuOpen}
          onOpen={setMenuOpen}
          onClosed={() => link.current?.focus({ preventScroll: true })}
        />
      </div>
    </article>
  )
})

/** The card itself, without a hand on it. */
export function CardFace({
  task,
  link,
  onFocus,
}: {
  task: Task
  link?: React.Ref<HTMLAnchorElement>
  onFocus?(): void
}) {
  const cost = dollars(task.cost_usd)
  const budget = dollars(task.budget_usd)
  const waits = task.phase === 'needs_you' || task.phase === 'failed'
  return (
    <div className="px-3 pt-2.5 pb-2.5">
      <div className="flex items-start gap-2 max-md:pr-8 md:group-has-checked:pr-13">
        <AgentMark name={task.agent} className="mt-0.5" />
        <p className="min-w-0 flex-1 leading-[1.3rem]">
          <span className="mr-1.5 font-mono text-tiny text-faint">{task.id}</span>
          <Link
            ref={link}
            to="/tasks/$id"
            params={{ id: String(task.id) }}
            onFocus={onFocus}
            draggable={false}
            className="font-medium text-[0.9063rem] text-ink outline-none wrap-anywhere before:absolute before:inset-0 before:rounded-xl"
          >
            {task.title}
          </Link>
        </p>
      </div>
      <Doing task={task} />
      {task.conflicts.length > 0 && !isOver(task) && <Clash task={task} />}
      {task.phase === 'backlog' && task.depends_on.length > 0 && (
        <p className="mt-1.5 flex items-center gap-1.5 text-small text-soft">
          <Link2 aria-hidden className="size-3.5 shrink-0" />
          {t('after {list}', { list: task.depends_on.map((it) => `task-${it.task_id}`).join(', ') })}
        </p>
      )}
      <footer className="mt-2 space-y-1 text-tiny text-faint">
        <div className="flex min-w-0 items-center gap-2">
          <DeskDot task={task} />
          <span
            className="min-w-0 flex-1 truncate"
            title={
              task.agent
                ? t('Agent {agent}, repository {repo}', { agent: task.agent, repo: task.repo })
                : t('Repository {repo}', { repo: task.repo })
            }
          >
            {task.agent && <span className="text-soft">{task.agent} · </span>}
            {task.repo}
          </span>
          <Clock task={task} />
        </div>
        {(cost || task.pull || waits || task.sandbox_id || hasDistance(task) || task.labels.length > 0) && (
          <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
            <Distance task={task} />
            <Isolation task={task} />
            {task.labels.slice(0, 2).map((label) => (
              <span key={label} className="max-w-full truncate rounded bg-well px-1 text-soft">
                {label}
              </span>
            ))}
            <span className="ml-auto flex items-center gap-2">
              {task.pull && (
                <span
                  className="flex items-center gap-1 text-soft"
                  title={t('Pull request {number}', { number: task.pull.number })}
                >
                  <ChecksRing task={task} />
                  <GitPullRequest aria-hidden className="size-3.5" />#{task.pull.number}
                </span>
              )}
              {cost && (
                <span
                  title={budget ? t('Spent on models, of {budget}', { budget }) : t('Spent on models')}
                  className={cx(isNearlySpent(task) && 'font-medium text-brass')}
                >
                  {cost}
                </span>
              )}
              {waits && (
                <Hand
                  aria-label={t('It {needsInWords}', { needsInWords: needsInWords(task) })}
                  className="size-3.5 text-brass"
                />
              )}
            </span>
          </div>
        )}
      </footer>
    </div>
  )
}

/** What goes on, in one line: the question that is open, or the agent's last word. */
function Doing({ task }: { task: Task }) {
  if (task.phase === 'needs_you' || task.phase === 'failed') {
    return (
      <p
        className={cx(
          'mt-1.5 line-clamp-3 rounded-md px-2 py-1 text-small wrap-anywhere',
          task.phase === 'failed' ? 'bg-oxblood-wash text-oxblood' : 'bg-brass-wash text-brass',
        )}
      >
        {task.needs?.detail ?? t('It {needsInWords}.', { needsInWords: needsInWords(task) })}
      </p>
    )
  }
  // A card that waits says what for; one that just came into the queue has nothing to say yet.
  const isWaiting = task.phase === 'queued'
  if (isWaiting ? !task.doing : !isBusy(task)) return null
  const look = TASK_LOOKS[task.phase]
  return (
    <p className="mt-1.5 flex items-center gap-2 text-small text-soft">
      <span
        aria-hidden
        className={cx('size-1.5 shrink-0 rounded-full', look.dot, !isWaiting && 'animate-breathe')}
      />
      <span className={isWaiting ? 'line-clamp-2' : 'truncate'} title={task.doing ?? look.word}>
        {task.doing ?? `${look.word}…`}
      </span>
    </p>
  )
}

/** The other cards that change the same lines. Named, so that somebody can decide which goes first. */
function Clash({ task }: { task: Task }) {
  const conflicts = useOpenConflicts(task)
  const [first, ...rest] = conflicts
  if (!first) return null
  const paths = conflicts.flatMap((it) => it.paths)
  return (
    <p
      data-conflict={first.task_id ?? 'base'}
      className="mt-1.5 flex gap-1.5 text-small leading-4.5 text-oxblood"
      title={paths.join('\n')}
    >
      <GitCompareArrows aria-hidden className="mt-0.5 size-3.5 shrink-0" />
      <span className="line-clamp-2">
        {t('conflicts with {what}', {
          what: first.task_id == null ? (task.base ?? t('its base')) : `task-${first.task_id}`,
        })}
        {rest.length > 0 && t(' and {n} more', { n: rest.length })}
        {paths[0] && (
          <bdi className="text-faint"> {t('in {file}', { file: paths[0].split('/').at(-1) ?? '' })}</bdi>
        )}
      </span>
    </p>
  )
}

/** The sandbox behind the card: running, paused, or gone. */
function DeskDot({ task }: { task: Task }) {
  const sandbox = useSandboxOf(task)
  const state = sandbox?.status ?? (task.sandbox_id && !isOver(task) ? 'gone' : undefined)
  if (!state) return null
  return (
    <span
      role="img"
      aria-label={t('Sandbox {state}', { state: worded(state) })}
      title={t('Sandbox {state}', { state: worded(state) })}
      className={cx(
        'size-2 shrink-0 rounded-full',
        state === 'running' ? 'bg-lamp' : state === 'paused' ? 'bg-slate' : 'border border-line-strong',
      )}
    />
  )
}

/** How strongly its sandbox is kept apart. */
function Isolation({ task }: { task: Task }) {
  const isolation = useSandboxOf(task)?.isolation ?? task.isolation
  return isolation && !isOver(task) ? (
    <span className="shrink-0" title={t('Isolated by {isolation}', { isolation })}>
      {isolation}
    </span>
  ) : null
}

/** Four fifths of a budget are the moment to look at what it buys. */
const isNearlySpent = (task: Task) =>
  task.budget_usd != null && !isOver(task) && (task.cost_usd ?? 0) >= task.budget_usd * 0.8

const hasDistance = (task: Task) => (task.ahead ?? 0) + (task.behind ?? 0) > 0 && !isOver(task)

function Distance({ task }: { task: Task }) {
  const ahead = task.ahead ?? 0
  const behind = task.behind ?? 0
  if (!hasDistance(task)) return null
  return (
    <span
      className="flex shrink-0 gap-1.5"
      title={t('{ahead} ahead of and {behind} behind {base}', {
        ahead,
        behind,
        base: task.base ?? t('its base'),
      })}
    >
      {ahead > 0 && <span>↑{ahead}</span>}
      {behind > 0 && <span className={cx(behind > 20 && 'text-brass')}>↓{behind}</span>}
      <span className="sr-only">{t('commits ahead and behind')}</span>
    </span>
  )
}

/** How long the agent has been at it; or how long ago it ended. */
function Clock({ task }: { task: Task }) {
  if (isBusy(task) && task.started_at) return <Elapsed since={task.started_at} />
  return <Age at={task.ended_at ?? task.updated_at} />
}

function Elapsed({ since }: { since: string }) {
  return <span title={t('At work for')}>{useReading((now) => stopwatch(since, now))}</span>
}
