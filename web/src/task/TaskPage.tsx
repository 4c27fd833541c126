/** The agent's work: the conversation on one side, what came of it on the other. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { Refusal, say } from '../api/problem'
import { useMoves } from '../board/moves'
import { CHECKOUT } from '../desk/parts'
import { Composer } from '../talk/Composer'
import { Timeline } from '../talk/Timeline'
import { Button } from '../ui/Button'
import { Halves, HalvesComing } from '../ui/Halves'
import { Empty, Skeleton, Trouble } from '../ui/Small'
import { useShortcuts } from '../ui/shortcuts'
import { toast } from '../ui/Toast'
import { rich, t } from '../words/words'
import { interrupt } from './interrupt'
import { isBusy, isOver } from './phases'
import { Question } from './Question'
import { openHere, task as taskQuery, timeline } from './queries'
import { Tabs } from './Tabs'
import { TopBar } from './TopBar'
import { TABS, type Tab } from './tabs'
import type { Moment, Task } from './types'
import { useAct } from './verbs'

const route = getRouteApi('/frame/tasks/$id')

export default function TaskPage() {
  const { id } = route.useParams()
  const number = Number(id.replace(/^task-/, ''))
  const { data, error, isPending, refetch } = useQuery({
    ...taskQuery(number),
    enabled: Number.isInteger(number),
  })
  const isNone =
    !Number.isInteger(number) || (error instanceof Refusal && [400, 404, 422].includes(error.status))
  if (isNone && !data) {
    return (
      <Empty title={t('No such task')}>
        <title>{t('No such task · Carrel')}</title>
        <p>
          {rich('There is no {id}, or it is not yours to see.', {
            id: <span className="font-mono wrap-anywhere">{id}</span>,
          })}
        </p>
        <div>
          <Link to="/" className="text-lamp underline underline-offset-4">
            {t('Back to the board')}
          </Link>
        </div>
      </Empty>
    )
  }
  if (error && !data) {
    return (
      <div className="mx-auto w-full max-w-xl px-6 py-16">
        <title>Carrel</title>
        <Trouble title={t('The task could not be read')} detail={say(error)}>
          <Button onClick={() => void refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  }
  if (isPending || !data) return <HalvesComing />
  return <Work key={data.id} task={data} />
}

function Work({ task }: { task: Task }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { history } = useRouter()
  const talk = useQuery(timeline(task.id))
  const act = useAct()
  const cache = useQueryClient()
  const { attempt } = useMoves()
  const composer = useRef<HTMLTextAreaElement>(null)
  const [isTalking, setTalking] = useState(!search.tab)

  const show = useCallback(
    (tab: Tab, more: { since?: number } = {}) => {
      setTalking(false)
      void navigate({ search: { tab, ...more }, replace: true })
    },
    [navigate],
  )
  useShortcuts({
    ...Object.fromEntries(TABS.map((tab, at) => [String(at + 1), () => show(tab)])),
    r: (event) => {
      event.preventDefault()
      setTalking(true)
      composer.current?.focus()
    },
    // Back to where one came from, with the filter it had.
    Escape: () => (history.canGoBack() ? history.back() : void navigate({ to: '/', search: {} })),
  })
  const answer = () => {
    setTalking(true)
    requestAnimationFrame(() => composer.current?.focus())
  }
  const since = useCallback((seq: number) => show('diff', { since: seq }), [show])
  const open = useCallback(
    (seq: number) => {
      openHere(cache, `tasks/${task.id}`, seq).then(
        (desk) =>
          void navigate({
            to: '/sandboxes/$id',
            params: { id: desk.id },
            search: { tab: 'files', at: CHECKOUT },
          }),
        (error) => toast(t('The checkpoint could not be opened'), say(error), 'bad'),
      )
    },
    [cache, task.id, navigate],
  )
  // The task changes with each word its agent says; the rows of its conversation must not be drawn again for that.
  const latest = useRef(task)
  useEffect(() => {
    latest.current = task
  }, [task])
  const fork = useCallback((seq: number) => void act(latest.current, 'fork', { from: seq }), [act])
  const send = (text: string) => act(task, 'message', { text })
  const sendNow = (text: string) => interrupt(cache, task.id, text)

  return (
    <>
      <title>{t('{title} · task-{id} · Carrel', { title: task.title, id: task.id })}</title>
      <TopBar task={task} onAnswer={answer} onVerb={(verb) => void attempt(task, verb)} />
      <Halves
        word={t('Work')}
        isTalking={isTalking}
        onTalking={setTalking}
        talk={
          <>
            {talk.isPending ? (
              <div className="flex-1 space-y-3 p-4">
                <Skeleton className="h-16" />
                <Skeleton className="h-10 w-3/4" />
                <Skeleton className="h-24" />
              </div>
            ) : talk.isError && !talk.data ? (
              <div className="flex-1 p-4">
                <Trouble title={t('The conversation could not be read')} detail={say(talk.error)} />
              </div>
            ) : (
              <Timeline
                moments={withPrompt(talk.data ?? [], task)}
                agent={task.agent}
                isBusy={isBusy(task)}
                doing={task.doing}
                onSince={since}
                onOpen={open}
                onFork={fork}
              />
            )}
            <Question task={task} />
            <Composer
              ref={composer}
              name={`task-${task.id}`}
              placeholder={
                task.phase === 'needs_you'
                  ? t('Answer…')
                  : task.phase === 'in_review'
                    ? t('Ask for a change…')
                    : task.phase === 'backlog'
                      ? t('Add to the wish…')
                      : t('Write to the agent…')
              }
              isBusy={isBusy(task)}
              isRaised={task.phase === 'needs_you'}
              sandboxId={task.sandbox_id}
              disabledBecause={isOver(task) ? t('This task is over. Fork it to go on.') : undefined}
              onSend={send}
              onSendNow={task.phase === 'working' ? sendNow : undefined}
            />
          </>
        }
      >
        <Tabs task={task} tab={search.tab ?? 'diff'} since={search.since} act={act} onTab={show} />
      </Halves>
    </>
  )
}

/** A task that nobody began has no conversation yet; its wish is the first word of it. */
function withPrompt(moments: readonly Moment[], task: Task): readonly Moment[] {
  if (moments.some((it) => it.kind === 'message' && it.role === 'user')) return moments
  return [
    { seq: 0, turn: 0, at: task.created_at, kind: 'message', role: 'user', text: task.prompt || task.title },
    ...moments,
  ]
}
