import { Link } from '@tanstack/react-router'
import { Bot, Pause, Play, Trash2 } from 'lucide-react'
import { memo, useState } from 'react'
import type { SandboxView } from '../api/types'
import { IconButton } from '../ui/Button'
import { Copy } from '../ui/Copy'
import { cx } from '../ui/cx'
import { Age, Lifetime } from '../ui/Moments'
import { Chip } from '../ui/Small'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { DestroyButton } from './DestroyButton'
import { Phase } from './Phase'
import { limitsInWords, possible } from './phases'
import { useAbilities, useVerbs } from './verbs'

/** The columns, shared with the list's heading. */
export const COLUMNS =
  'lg:grid lg:grid-cols-[7.5rem_minmax(13rem,1.5fr)_minmax(9rem,1fr)_minmax(9.5rem,1fr)_4rem_4.5rem_5rem] lg:gap-x-4'

interface SandboxRowProps {
  sandbox: SandboxView
  /** In the list of the living, one that is gone fades; among the gone it stays. */
  isAmongLiving: boolean
}

/** One sandbox in the list. The whole row leads to its page; the buttons stand above that. */
export const SandboxRow = memo(function SandboxRow({ sandbox, isAmongLiving }: SandboxRowProps) {
  const [isNew] = useState(() => Date.now() - Date.parse(sandbox.created_at) < 4_000)
  const can = possible(sandbox, useAbilities(sandbox.provider))
  const verbs = useVerbs(sandbox)
  const isGone = sandbox.phase === 'gone'
  const isLeaving = isGone && isAmongLiving

  return (
    <li
      data-sandbox={sandbox.id}
      className={cx(
        'group relative row-lazy flex flex-wrap items-center gap-x-4 gap-y-1.5 px-4 py-3 transition-[background-color,opacity] duration-700 hover:bg-paper',
        COLUMNS,
        isNew && 'animate-arrive',
        isGone && 'text-faint',
        isLeaving && 'animate-depart',
      )}
    >
      <Link
        to="/sandboxes/$id"
        params={{ id: sandbox.id }}
        data-row
        aria-label={t('Sandbox {id}, {phase}', { id: sandbox.id, phase: worded(sandbox.phase) })}
        className="absolute inset-0 rounded-lg -outline-offset-2"
      />
      <div className="order-2 ml-auto lg:order-none lg:ml-0">
        <Phase phase={sandbox.phase} />
      </div>

      <div className="order-1 min-w-0 lg:order-none">
        <div className="flex items-center gap-1">
          <span className={cx('truncate font-mono text-small font-medium', isGone && 'line-through')}>
            {sandbox.id}
          </span>
          <Copy
            text={sandbox.id}
            label={t('Copy {id}', { id: sandbox.id })}
            className="relative z-10 -my-1 size-7 lg:opacity-0 lg:group-focus-within:opacity-100 lg:group-hover:opacity-100"
          />
        </div>
        {sandbox.note ? (
          <p
            className={cx(
              'font-serif text-small italic wrap-anywhere',
              sandbox.phase === 'failed' ? 'text-oxblood' : 'text-soft',
            )}
          >
            {sandbox.note}
          </p>
        ) : (
          <p className="text-small text-faint">
            {isGone && sandbox.ended ? sandbox.ended.why : limitsInWords(sandbox.limits)}
          </p>
        )}
      </div>

      <div className="order-3 flex min-w-0 basis-full items-baseline gap-x-2 lg:order-none lg:block lg:basis-auto">
        <p className="truncate">{sandbox.template}</p>
        <p className="truncate text-small text-faint">
          {sandbox.provider} · {sandbox.isolation}
        </p>
      </div>

      <div className="order-4 flex min-w-0 flex-wrap gap-1 lg:order-none">
        {sandbox.task_id != null && <Chip tone="brass">{`task-${sandbox.task_id}`}</Chip>}
        {sandbox.agent_id != null && (
          <Chip>
            <Bot aria-hidden className="mr-1 size-3.5" />
            {sandbox.agent_id}
          </Chip>
        )}
      </div>

      <div className="order-5 text-soft lg:order-none">
        <span className="text-faint lg:hidden">{t('age')} </span>
        <Age at={sandbox.created_at} />
      </div>

      <div className="order-6 lg:order-none">
        {sandbox.expires_at && !isGone ? (
          <Lifetime until={sandbox.expires_at} wholeSeconds={sandbox.timeout_s} />
        ) : (
          <span className="text-faint">–</span>
        )}
      </div>

      <div className="relative z-10 order-7 ml-auto flex justify-end lg:order-none lg:ml-0">
        {can.pause && (
          <IconButton label={t('Pause {id}', { id: sandbox.id })} onClick={() => verbs.pause.mutate()}>
            <Pause />
          </IconButton>
        )}
        {can.resume && (
          <IconButton label={t('Resume {id}', { id: sandbox.id })} onClick={() => verbs.resume.mutate()}>
            <Play />
          </IconButton>
        )}
        {can.destroy && (
          <DestroyButton sandbox={sandbox} onConfirm={() => verbs.destroy.mutate()}>
            <IconButton
              label={t('Destroy {id}', { id: sandbox.id })}
              className="hover:bg-oxblood-wash hover:text-oxblood"
            >
              <Trash2 />
            </IconButton>
          </DestroyButton>
        )}
      </div>
    </li>
  )
})
