/** What can be done with all chosen cards at once. */
import { X } from 'lucide-react'
import { useState } from 'react'
import type { Task, Verb } from '../task/types'
import { OUTCOMES, possible, useAct, VERB_WORDS } from '../task/verbs'
import { askFirst } from '../ui/Ask'
import { Button, IconButton } from '../ui/Button'
import { dollars } from '../ui/money'
import { toast } from '../ui/Toast'
import { t, tn } from '../words/words'

const VERBS: readonly Verb[] = ['start', 'retry', 'stop', 'rebase', 'merge', 'close']
const DONE: Record<Verb, (amount: number) => string> = {
  start: (it) => tn(it, '{n} task told to start', '{n} tasks told to start'),
  retry: (it) => tn(it, '{n} task told to try again', '{n} tasks told to try again'),
  stop: (it) => tn(it, '{n} task stopped', '{n} tasks stopped'),
  rebase: (it) => tn(it, '{n} task told to rebase', '{n} tasks told to rebase'),
  merge: (it) => tn(it, '{n} task told to merge', '{n} tasks told to merge'),
  close: (it) => tn(it, '{n} task closed', '{n} tasks closed'),
  message: (it) => tn(it, '{n} task written to', '{n} tasks written to'),
  fork: (it) => tn(it, '{n} task forked', '{n} tasks forked'),
}

/** What was refused, and to which tasks for which reasons. */
interface Refused {
  verb: Verb
  reasons: readonly { id: number; why: string }[]
}

interface BulkProps {
  tasks: readonly Task[]
  /** What stays chosen: those that somebody must look at. */
  onChoose(ids: ReadonlySet<number>): void
}

export function Bulk({ tasks, onChoose }: BulkProps) {
  const act = useAct()
  const [refused, setRefused] = useState<Refused>()
  const [isBusy, setBusy] = useState(false)

  const run = async (verb: Verb) => {
    const able = tasks.filter((task) => possible(task).includes(verb))
    const budget = able.reduce((sum, task) => sum + (task.budget_usd ?? 0), 0)
    const detail =
      verb === 'start' || verb === 'retry'
        ? dollars(budget)
          ? t('Agents begin to work, with budgets of {budget} together.', { budget: dollars(budget) ?? '' })
          : t('Agents begin to work.')
        : verb === 'close'
          ? t('What is not merged stays on its branches. The desks are cleared.')
          : verb === 'merge'
            ? t('One after the other, each checked on the merged result.')
            : t('This happens to each of them.')
    const isSure = await askFirst({
      title: tn(able.length, '{verb} {n} task?', '{verb} {n} tasks?', { verb: VERB_WORDS[verb] }),
      detail,
      act: VERB_WORDS[verb],
      isGrave: verb === 'close',
    })
    if (!isSure) return
    setBusy(true)
    // One after the other: merges want their order, and nobody is hurt by a second more.
    let done = 0
    const reasons: { id: number; why: string }[] = []
    for (const task of able)
      if (await act(task, verb, undefined, (why) => reasons.push({ id: task.id, why }))) done += 1
    setBusy(false)
    setRefused(reasons.length > 0 ? { verb, reasons } : undefined)
    if (done > 0) toast(DONE[verb](done))
    onChoose(new Set(reasons.map((it) => it.id)))
  }

  return (
    <section
      aria-label={t('Chosen tasks')}
      className="fixed inset-x-4 bottom-5 z-40 mx-auto flex w-fit max-w-[calc(100vw-2rem)] animate-rise flex-wrap items-center gap-2 rounded-2xl border border-line bg-card p-2 pl-4 shadow-float max-md:bottom-18"
    >
      {refused && (
        <div role="alert" className="max-h-48 w-full max-w-2xl overflow-y-auto pt-1 pr-2 text-small">
          <p className="font-medium text-oxblood">
            {tn(refused.reasons.length, '{n} task was not {done}', '{n} tasks were not {done}', {
              done: OUTCOMES[refused.verb],
            })}
          </p>
          <ul className="mt-1 space-y-0.5">
            {refused.reasons.map((it) => (
              <li key={it.id} data-refused={it.id} className="wrap-anywhere">
                <span className="font-mono text-faint">{`task-${it.id}`}</span> {it.why}
              </li>
            ))}
          </ul>
        </div>
      )}
      <p aria-live="polite" className="mr-2 font-medium">
        {tn(tasks.length, '{n} task', '{n} tasks')}
      </p>
      {VERBS.map((verb) => {
        const able = tasks.filter((task) => possible(task).includes(verb)).length
        return (
          able > 0 && (
            <Button
              key={verb}
              disabled={isBusy}
              tone={verb === 'close' ? 'quiet' : 'plain'}
              onClick={() => void run(verb)}
            >
              {VERB_WORDS[verb]}
              {able < tasks.length && <span className="text-faint">{able}</span>}
            </Button>
          )
        )
      })}
      <IconButton label={t('Choose none')} onClick={() => onChoose(new Set())}>
        <X />
      </IconButton>
    </section>
  )
}
