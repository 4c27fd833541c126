/** The review of a task: what it changed, its checks, and what is said at its pull request. */
import { useQuery } from '@tanstack/react-query'
import { MessageSquareText } from 'lucide-react'
import { useState } from 'react'
import { useRemarks, useVerdicts } from '../pull/queries'
import { branchOf, isBusy } from '../task/phases'
import { diffOf, timeline } from '../task/queries'
import type { Task } from '../task/types'
import type { Act } from '../task/verbs'
import { Button } from '../ui/Button'
import { t } from '../words/words'
import { Checks } from './Checks'
import { JudgeDialog } from './JudgeDialog'
import { fromOthers, mirror } from './mirror'
import { Reading } from './Reading'
import { Said } from './Said'

interface DiffTabProps {
  task: Task
  act: Act
  /** The checkpoint that it is compared with; its base otherwise. */
  since?: number | undefined
  /** Leads back to the whole. */
  onAll(): void
}

export default function DiffTab({ task, act, since, onAll }: DiffTabProps) {
  const [isJudging, setJudging] = useState(false)
  const remarks = useRemarks(task)
  const verdicts = useVerdicts(task)
  const { data: moments } = useQuery(timeline(task.id))
  return (
    <Reading
      of={task.id}
      branch={branchOf(task)}
      head={task.head ?? undefined}
      isBusy={isBusy(task)}
      moments={moments}
      diffOf={(from) => diffOf(task, from)}
      since={since}
      onAll={onAll}
      onSend={(text) => act(task, 'message', { text })}
      onMirror={task.pull ? (comment) => mirror(task, comment) : undefined}
      remarks={(own) => fromOthers(remarks, task.id, own)}
      above={(whole) => (
        <>
          <Checks task={task} />
          <Said remarks={whole} reviews={verdicts} />
          {task.pull && (
            <JudgeDialog
              repo={task.repo}
              number={task.pull.number}
              hasAgent
              isOpen={isJudging}
              onClose={() => setJudging(false)}
            />
          )}
        </>
      )}
      corner={
        task.pull &&
        task.phase === 'in_review' && (
          <Button data-judge isSmall icon={<MessageSquareText />} onClick={() => setJudging(true)}>
            {t('Review')}
          </Button>
        )
      }
    />
  )
}
