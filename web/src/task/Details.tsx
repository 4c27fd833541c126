/** Everything else that is true of a task. */
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SandboxView } from '../api/types'
import { Copy } from '../ui/Copy'
import { Ago } from '../ui/Moments'
import { dollars } from '../ui/money'
import { Chip } from '../ui/Small'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { Areas } from './Areas'
import { UNTIL_WORDS } from './draft'
import { branchOf, fetchLine } from './phases'
import type { Task } from './types'

export function Details({ task, sandbox }: { task: Task; sandbox: SandboxView | undefined }) {
  const fetch = fetchLine(task)
  return (
    <section aria-label={t('Details')} className="min-h-0 flex-1 overflow-y-auto px-5 py-3">
      <dl className="divide-y divide-line">
        <Fact name={t('Wish')}>
          <span className="whitespace-pre-wrap">{task.prompt || task.title}</span>
        </Fact>
        <Fact name={t('Agent')}>{task.agent ?? t('as the server has it')}</Fact>
        <Fact name={t('Repository')}>
          <Link
            to="/repos/$name"
            params={{ name: task.repo }}
            className="text-lamp underline underline-offset-4"
          >
            {task.repo}
          </Link>
        </Fact>
        <Fact name={t('Branch')}>
          <span className="font-mono text-small">{branchOf(task)}</span>
          {task.head && (
            <span className="ml-2 font-mono text-small text-faint">{task.head.slice(0, 12)}</span>
          )}
        </Fact>
        <Fact name={t('By git')}>
          <span className="flex items-center gap-1">
            <code className="min-w-0 truncate font-mono text-small">{fetch}</code>
            <Copy text={fetch} label={t('Copy the command')} className="-my-2" />
          </span>
        </Fact>
        <Fact name={t('By ssh')}>
          {task.sandbox_id ? (
            <span className="flex items-center gap-1">
              <code className="min-w-0 truncate font-mono text-small">
                {t('ssh carrel-task-{id}', { id: task.id })}
              </code>
              <Copy text={`ssh carrel-task-${task.id}`} label={t('Copy the command')} className="-my-2" />
            </span>
          ) : (
            t('When it has a desk.')
          )}
        </Fact>
        {task.sandbox_id && (
          <Fact name={t('Sandbox')}>
            <Link
              to="/sandboxes/$id"
              params={{ id: task.sandbox_id }}
              className="font-mono text-small text-lamp underline underline-offset-4"
            >
              {task.sandbox_id}
            </Link>{' '}
            <span className="text-faint">{worded(sandbox?.status ?? 'gone')}</span>
          </Fact>
        )}
        {task.depends_on.length > 0 && (
          <Fact name={t('Waits until')}>
            <ul>
              {task.depends_on.map((it) => (
                <li key={it.task_id}>
                  <Link
                    to="/tasks/$id"
                    params={{ id: String(it.task_id) }}
                    className="text-lamp underline underline-offset-4"
                  >
                    {`task-${it.task_id}`}
                  </Link>{' '}
                  {UNTIL_WORDS[it.until ?? 'merged']}
                </li>
              ))}
            </ul>
          </Fact>
        )}
        <Areas task={task} />
        <Fact name={t('Budget')}>
          {dollars(task.budget_usd) ?? t('none')}
          {dollars(task.cost_usd) && (
            <span className="text-faint">
              {' '}
              · {t('{cost_usd} spent', { cost_usd: dollars(task.cost_usd) ?? '' })}
            </span>
          )}
        </Fact>
        {task.labels.length > 0 && (
          <Fact name={t('Labels')}>
            <span className="flex flex-wrap gap-1">
              {task.labels.map((label) => (
                <Chip key={label}>{label}</Chip>
              ))}
            </span>
          </Fact>
        )}
        <Fact name={t('Priority')}>{task.priority}</Fact>
        <Fact name={t('Asked for')}>
          <Ago at={task.created_at} />
        </Fact>
        {task.started_at && (
          <Fact name={t('Started')}>
            <Ago at={task.started_at} />
          </Fact>
        )}
        {task.ended_at && (
          <Fact name={t('Ended')}>
            <Ago at={task.ended_at} />
          </Fact>
        )}
      </dl>
    </section>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[7rem_minmax(0,1fr)] items-baseline gap-3 py-2.5">
      <dt className="text-faint">{name}</dt>
      <dd className="wrap-anywhere">{children}</dd>
    </div>
  )
}
