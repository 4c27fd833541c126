/** Where we are, how it stands, and the one thing to do next. */
import { Link } from '@tanstack/react-router'
import { ArrowRight, Ellipsis, ExternalLink, GitPullRequest, Network, ShieldCheck } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { AgentMark } from '../agent/AgentMark'
import { useGate } from '../review/gate'
import { Button, IconButton } from '../ui/Button'
import { cx } from '../ui/cx'
import { menuItem, menuLook } from '../ui/menu'
import { dollars } from '../ui/money'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { useSandboxOf } from './desk'
import { branchOf, TASK_LOOKS } from './phases'
import type { Task, Verb } from './types'
import { possible, primary, VERB_WORDS } from './verbs'

export function TopBar({
  task,
  onVerb,
  onAnswer,
}: {
  task: Task
  onVerb(verb: Verb): void
  onAnswer(): void
}) {
  const look = TASK_LOOKS[task.phase]
  const sandbox = useSandboxOf(task)
  const next = primary(task)
  const cost = dollars(task.cost_usd)
  const budget = dollars(task.budget_usd)
  const isolation = sandbox?.isolation ?? task.isolation
  const network = sandbox?.network.mode ?? task.network?.mode
  const blocked = useGate(task)
  const others = possible(task).filter((verb) => verb !== next?.verb && verb !== 'message')
  return (
    <header className="shrink-0 px-4 pt-3 pb-3 md:px-5">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-small text-soft">
        <Link
          to="/"
          search={{ repo: task.repo }}
          className="underline-offset-4 hover:text-ink hover:underline"
        >
          {task.repo}
        </Link>
        <span aria-hidden>›</span>
        <span className="font-mono text-ink">{branchOf(task)}</span>
        <ArrowRight aria-label={t('into')} className="size-3.5" />
        <span className="font-mono">{task.base ?? t('the default branch')}</span>
        {(task.ahead ?? 0) + (task.behind ?? 0) > 0 && (
          <span className="flex gap-1.5 text-faint" title={t('Commits ahead of and behind the base')}>
            <span>↑{task.ahead ?? 0}</span> <span>↓{task.behind ?? 0}</span>
          </span>
        )}
        <span className="ml-auto flex flex-wrap items-center gap-x-3 gap-y-1">
          {isolation && (
            <span
              className="inline-flex items-center gap-1"
              title={t('How strongly its sandbox is kept apart')}
            >
              <ShieldCheck aria-hidden className="size-3.5 text-lamp" />
              <span className="max-sm:sr-only">{isolation}</span>
            </span>
          )}
          {network && (
            <span className="inline-flex items-center gap-1" title={t('What its sandbox may reach')}>
              <Network aria-hidden className="size-3.5" />
              <span className="max-sm:sr-only">
                {network === 'none'
                  ? t('no network')
                  : network === 'allow'
                    ? t('some hosts')
                    : t('open network')}
              </span>
            </span>
          )}
          {(cost || budget) && (
            <span title={t('Spent on models, and the budget')}>
              {cost ?? '$0.00'}
              {budget && <span className="text-faint"> {t('of {budget}', { budget })}</span>}
            </span>
          )}
        </span>
      </div>
      <div className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-2">
        <AgentMark name={task.agent} />
        <h1 className="min-w-0 flex-1 basis-64 text-title leading-7 wrap-anywhere">{task.title}</h1>
        <span
          data-phase={task.phase}
          className={cx(
            'inline-flex items-center gap-2 rounded-full py-0.5 pr-3 pl-2.5 font-medium',
            look.text,
            look.wash,
          )}
        >
          <span
            aria-hidden
            className={cx('size-2 rounded-full', look.dot, look.isMoving && 'animate-breathe')}
          />
          {look.word}
        </span>
        {task.pull && <PullLink task={task} />}
        {next && (
          <Button
            tone={next.verb === 'stop' || next.verb === 'fork' ? 'plain' : 'primary'}
            disabled={next.verb === 'merge' && Boolean(blocked?.isShut)}
            title={next.verb === 'merge' ? blocked?.words : undefined}
            onClick={() =>
              next.verb === 'answer' || next.verb === 'review' ? onAnswer() : onVerb(next.verb)
            }
          >
            {next.word}
          </Button>
        )}
        {others.length > 0 && (
          <DropdownMenu.Root modal={false}>
            <DropdownMenu.Trigger asChild>
              <IconButton label={t('More verbs')}>
                <Ellipsis />
              </IconButton>
            </DropdownMenu.Trigger>
            <DropdownMenu.Portal>
              <DropdownMenu.Content align="end" sideOffset={6} className={menuLook}>
                {others.map((verb) => (
                  <DropdownMenu.Item
                    key={verb}
                    className={cx(menuItem, verb === 'close' && 'text-oxblood')}
                    onSelect={() => onVerb(verb)}
                  >
                    {VERB_WORDS[verb]}
                  </DropdownMenu.Item>
                ))}
              </DropdownMenu.Content>
            </DropdownMenu.Portal>
          </DropdownMenu.Root>
        )}
      </div>
      {blocked && <p className="mt-1.5 text-small text-brass">{blocked.words}</p>}
    </header>
  )
}

/** The pull: a link when it is somewhere else, a number when it lives here. */
function PullLink({ task }: { task: Task }) {
  const pull = task.pull
  if (!pull) return null
  const words = (
    <>
      <GitPullRequest aria-hidden className="size-4" />#{pull.number}
    </>
  )
  const look = 'inline-flex items-center gap-1.5 text-soft'
  return pull.url && /^https?:/.test(pull.url) && !pull.url.startsWith(window.location.origin) ? (
    <a
      href={pull.url}
      target="_blank"
      rel="noreferrer"
      className={cx(look, 'underline-offset-4 hover:text-ink hover:underline')}
    >
      {words}
      <ExternalLink aria-hidden className="size-3" />
    </a>
  ) : (
    <span
      className={look}
      title={t('Pull request {number}, {phase}', { number: pull.number, phase: worded(pull.phase) })}
    >
      {words}
    </span>
  )
}
