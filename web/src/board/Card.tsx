/** One task as a card. The whole card leads to its page; what stands on it is what is true of it now. */
import { useDraggable } from '@dnd-kit/core'
import { Link } from '@tanstack/react-router'
import { CircleAlert, GitCompareArrows, GitPullRequest, Hand, Link2, ShieldCheck } from 'lucide-react'
import { memo, useEffect, useRef, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import type { SandboxView } from '../api/types'
import { useOpenConflicts } from '../task/conflicts'
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
  /** Its sandbox, while there is one. */
  desk: SandboxView | undefined
  isCurrent: boolean
  isChosen: boolean
  isHeld: boolean
  onCurrent(id: number): void
  onChoose(id: number): void
}

export const Card = memo(function Card({
  task,
  desk,
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
      // The link covers the card but for what has something to tell under the pointer; that leads there too.
      onClick={(event) => {
        if (event.target instanceof Element && !event.target.closest('a, button, input, [role="menu"]'))
          link.current?.dispatchEvent(new MouseEvent('click', event.nativeEvent))
      }}
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
      <CardFace task={task} desk={desk} link={link} onFocus={() => onCurrent(task.id)} />
      {/* It stands where the agent's mark is: to choose a card moves nothing on it. */}
      <span className="absolute top-3 left-3 grid size-4.5 place-items-center bg-card opacity-0 group-hover:opacity-100 has-checked:opacity-100 has-focus-visible:opacity-100 max-md:hidden">
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={t('Select task-{id}', { id: task.id })}
          onChange={() => onChoose(task.id)}
          className="size-4 accent-(--lamp)"
        />
      </span>
      <div className="absolute top-1.5 right-1.5 rounded-lg bg-card opacity-0 transition-opacity group-hover:opacity-100 has-focus-visible:opacity-100 has-[[data-state=open]]:opacity-100 max-md:opacity-100">
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
  desk,
  link,
  onFocus,
}: {
  task: Task
  desk: SandboxView | undefined
  link?: React.Ref<HTMLAnchorElement>
  onFocus?(): void
}) {
  const cost = dollars(task.cost_usd)
  const budget = dollars(task.budget_usd)
  const hasMore = Boolean(cost || task.pull || hasDistance(task))
  const isolation = isOver(task) ? undefined : (desk?.isolation ?? task.isolation)
  return (
    <div className="@container px-3 py-2.5">
      <div className="flex items-start gap-2 max-md:pr-8">
        <AgentMark name={task.agent} className="mt-0.5" />
        <p className="line-clamp-3 min-w-0 flex-1 leading-[1.3rem]">
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
      {task.labels.length > 0 && (
        <p className="mt-1.5 flex min-w-0 flex-wrap gap-1 text-tiny">
          {task.labels.slice(0, 2).map((label) => (
            <span key={label} className="max-w-full truncate rounded bg-well px-1.5 text-soft">
              {label}
            </span>
          ))}
        </p>
      )}
      <footer className="mt-2 space-y-1 text-tiny text-faint *:flex *:min-w-0 *:items-center *:gap-2">
        <div>
          <DeskDot task={task} desk={desk} />
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
        {(isolation || hasMore) && (
          <div>
            {isolation && (
              <span
                className="relative flex shrink-0 items-center gap-1"
                title={t('Isolated by {isolation}', { isolation })}
              >
                <ShieldCheck aria-hidden className="size-3.5" />
                <span className={cx(hasMore && '@max-[15rem]:sr-only')}>{isolation}</span>
              </span>
            )}
            <Distance task={task} />
            {task.pull && (
              <span
                className="relative flex shrink-0 items-center gap-1 text-soft"
                title={t('Pull request {number}', { number: task.pull.number })}
              >
                <GitPullRequest aria-hidden className="size-3.5" />#{task.pull.number}
                <ChecksRing task={task} />
              </span>
            )}
            {cost && (
              <span
                title={budget ? t('Spent on models, of {budget}', { budget }) : t('Spent on models')}
                className={cx('relative ml-auto truncate', isNearlySpent(task) && 'font-medium text-brass')}
              >
                {cost}
              </span>
            )}
          </div>
        )}
      </footer>
    </div>
  )
}

/** What goes on, in one line: the question that is open, or the agent's last word. */
function Doing({ task }: { task: Task }) {
  if (task.phase === 'needs_you' || task.phase === 'failed') {
    const Icon = task.phase === 'failed' ? CircleAlert : Hand
    const words = t('It {needsInWords}.', { needsInWords: needsInWords(task) })
    return (
      <div
        className={cx(
          'mt-2 flex gap-1.5 rounded-md px-2 py-1.5 text-small',
          task.phase === 'failed' ? 'bg-oxblood-wash text-oxblood' : 'bg-brass-wash text-brass',
        )}
      >
        <Icon role="img" aria-label={words} className="mt-0.5 size-3.5 shrink-0" />
        <p className="line-clamp-4 min-w-0 wrap-anywhere">{task.needs?.detail ?? words}</p>
      </div>
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
      className="relative mt-1.5 flex gap-1.5 text-small leading-4.5 text-oxblood"
      title={paths.join('\n')}
    >
      <GitCompareArrows aria-hidden className="mt-0.5 size-3.5 shrink-0" />
      <span className="min-w-0">
        {t('conflicts with {what}', {
          what: first.task_id == null ? (task.base ?? t('its base')) : `task-${first.task_id}`,
        })}
        {rest.length > 0 && t(' and {n} more', { n: rest.length })}
        {paths[0] && (
          <bdi className="block truncate text-faint">
            {t('in {file}', { file: paths[0].split('/').at(-1) ?? '' })}
          </bdi>
        )}
      </span>
    </p>
  )
}

/** The sandbox behind the card: running, paused, or gone. */
function DeskDot({ task, desk }: { task: Task; desk: SandboxView | undefined }) {
  const state = desk?.status ?? (task.sandbox_id && !isOver(task) ? 'gone' : undefined)
  if (!state) return null
  return (
    <span
      role="img"
      aria-label={t('Sandbox {state}', { state: worded(state) })}
      title={t('Sandbox {state}', { state: worded(state) })}
      className={cx(
        'relative size-2 shrink-0 rounded-full',
        state === 'running' ? 'bg-lamp' : state === 'paused' ? 'bg-slate' : 'border border-line-strong',
      )}
    />
  )
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
      className="relative flex shrink-0 gap-1.5"
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
  return (
    <span className="relative">
      <Age at={task.ended_at ?? task.updated_at} />
    </span>
  )
}

function Elapsed({ since }: { since: string }) {
  return (
    <span className="relative" title={t('At work for')}>
      {useReading((now) => stopwatch(since, now))}
    </span>
  )
}
