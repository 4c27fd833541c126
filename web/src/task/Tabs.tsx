/** What came of the work, tab by tab. Each is loaded when first looked at. */
import { lazy } from 'react'
import { deskParts } from '../desk/deskParts'
import { EditorButton } from '../desk/EditorButton'
import { CHECKOUT } from '../desk/parts'
import { type Part, Parts } from '../ui/Parts'
import { t } from '../words/words'
import { Details } from './Details'
import { useSandboxOf } from './desk'
import { fetchLine, isOver } from './phases'
import { TAB_WORDS, type Tab } from './tabs'
import type { Task } from './types'
import type { Act } from './verbs'

const DiffTab = lazy(() => import('../review/DiffTab'))

interface TabsProps {
  task: Task
  tab: Tab
  since?: number | undefined
  act: Act
  onTab(tab: Tab): void
}

export function Tabs({ task, tab, since, act, onTab }: TabsProps) {
  const sandbox = useSandboxOf(task)
  const parts: Part<Tab>[] = [
    {
      name: 'diff',
      word: TAB_WORDS.diff,
      panel: <DiffTab task={task} act={act} since={since} onAll={() => onTab('diff')} />,
    },
    ...deskParts({
      sandbox,
      sandboxId: task.sandbox_id,
      folder: CHECKOUT,
      repo: task.repo,
      taskId: task.id,
      absent: isOver(task)
        ? t('The task is over and its desk was cleared. Its commits are on the branch.')
        : t('A desk is set up when the task starts.'),
    }),
    { name: 'details', word: TAB_WORDS.details, panel: <Details task={task} sandbox={sandbox} /> },
  ]
  return (
    <Parts
      label={t('Work')}
      parts={parts}
      value={tab}
      onChange={onTab}
      corner={
        sandbox?.phase === 'ready' && (
          <EditorButton
            isSmall
            sandboxId={sandbox.id}
            host={`task-${task.id}`}
            folder={CHECKOUT}
            fetch={fetchLine(task)}
          />
        )
      }
    />
  )
}
