import { Hand } from 'lucide-react'
import { needsInWords } from './phases'
import type { Task } from './types'

/** The open question, right above where it is answered. */
export function Question({ task }: { task: Task }) {
  if (task.phase !== 'needs_you' && task.phase !== 'failed') return null
  const isBad = task.phase === 'failed'
  return (
    <div
      role="status"
      className={`flex shrink-0 gap-2.5 border-t px-4 py-3 ${isBad ? 'border-oxblood/40 bg-oxblood-wash' : 'border-brass/40 bg-brass-wash'}`}
    >
      <Hand
        aria-hidden
        className={`size-4.5 shrink-0 translate-y-0.5 ${isBad ? 'text-oxblood' : 'text-brass'}`}
      />
      <div className="min-w-0">
        <p className={`font-medium ${isBad ? 'text-oxblood' : 'text-brass'}`}>
          {`task-${task.id}`} {needsInWords(task)}
        </p>
        {task.needs?.detail && (
          <p className="mt-0.5 max-h-40 overflow-y-auto whitespace-pre-wrap wrap-anywhere">
            {task.needs.detail}
          </p>
        )}
      </div>
    </div>
  )
}
