/** The review: files first, hunks when they come into sight, comments on lines, and one message for all of them. */
import { useQuery } from '@tanstack/react-query'
import { Columns2, MessageSquareText, Rows3, Send } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { Refusal, say } from '../api/problem'
import { useRemarks, useVerdicts } from '../pull/queries'
import { branchOf } from '../task/phases'
import { diff } from '../task/queries'
import type { Task } from '../task/types'
import type { Act } from '../task/verbs'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Empty, Skeleton, Trouble } from '../ui/Small'
import { Switch } from '../ui/Switch'
import { toast } from '../ui/Toast'
import { t, tn } from '../words/words'
import { Checks } from './Checks'
import { FileSection } from './FileSection'
import { JudgeDialog } from './JudgeDialog'
import { fromOthers, mirror } from './mirror'
import { type ReadFile, readFiles } from './patch'
import { type Comment, drafts, inOneMessage, useReview } from './review'
import { Said } from './Said'

export default function DiffTab({ task, act, since }: { task: Task; act: Act; since?: number | undefined }) {
  const patch = useQuery({
    ...diff(task.id, `${task.head ?? ''} ${task.phase}`, since),
    placeholderData: (before) => before,
  })
  const files = useMemo(() => (patch.data ? readFiles(patch.data) : []), [patch.data])
  const [review, change] = useReview(task.id)
  const [isSplit, setSplit] = useState(() => localStorage.getItem('carrel.diff') === 'split')
  const [onlyNew, setOnlyNew] = useState(true)
  const [isSending, setSending] = useState(false)
  const [isJudging, setJudging] = useState(false)
  const said = fromOthers(useRemarks(task), task.id, review.comments)
  const verdicts = useVerdicts(task)
  const scroller = useRef<HTMLDivElement>(null)

  const unread = files.filter((file) => review.read[file.path] !== file.sum)
  const wasRead = files.length > unread.length
  const shown = onlyNew && wasRead && unread.length > 0 ? unread : files
  const waiting = drafts(review)

  if (patch.isPending)
    return (
      <div role="status" aria-label={t('Loading')} className="space-y-3 p-4">
        <Skeleton className="h-10" />
        <Skeleton className="h-48" />
        <Skeleton className="h-32" />
      </div>
    )
  if (patch.isError && !patch.data) {
    const isNothing = patch.error instanceof Refusal && [404, 409].includes(patch.error.status)
    return isNothing ? (
      <NothingYet />
    ) : (
      <div className="p-4">
        <Trouble title={t('The diff could not be read')} detail={say(patch.error)}>
          <Button onClick={() => void patch.refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  }
  if (files.length === 0) return <NothingYet />

  const send = async () => {
    setSending(true)
    const isSent = await act(task, 'message', { text: inOneMessage(waiting, branchOf(task)) })
    setSending(false)
    if (!isSent) return
    const ids = new Set(waiting.map((it) => it.id))
    change((now) => ({
      ...now,
      comments: now.comments.map((it) => (ids.has(it.id) ? { ...it, sentAt: task.head ?? '' } : it)),
      read: { ...now.read, ...Object.fromEntries(files.map((file) => [file.path, file.sum])) },
    }))
    toast(t('{size} sent to the agent', { size: tn(ids.size, '{n} comment', '{n} comments') }))
    if (task.pull) await post(waiting)
  }

  // The agent has heard them; this is for people who look at the pull request.
  const post = async (comments: readonly Comment[]) => {
    for (const comment of comments) {
      try {
        await mirror(task, comment)
        change((now) => ({
          ...now,
          comments: now.comments.map((it) =>
            it.id === comment.id ? { ...it, isPosted: true as const } : it,
          ),
        }))
      } catch (error) {
        toast(t('A comment could not be put on the pull request'), say(error), 'bad')
        return
      }
    }
  }

  const added = files.reduce((total, file) => total + file.added, 0)
  const removed = files.reduce((total, file) => total + file.removed, 0)
  return (
    <section aria-label={t('Diff')} className="flex min-h-0 flex-1 flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-4 py-2 text-small">
        <p className="font-medium">
          {tn(files.length, '{n} file', '{n} files')} <span className="text-lamp">+{added}</span>{' '}
          <span className="text-oxblood">−{removed}</span>
        </p>
        {wasRead && (
          <Switch isOn={onlyNew} onChange={setOnlyNew}>
            {unread.length === 0 ? t('Since my last review: nothing') : t('Since my last review')}
          </Switch>
        )}
        <div className="ml-auto flex items-center gap-2">
          {waiting.length > 0 && (
            <Button
              tone="primary"
              className="h-8"
              icon={<Send />}
              isBusy={isSending}
              onClick={() => void send()}
            >
              {tn(waiting.length, 'Send {n} comment', 'Send {n} comments')}
            </Button>
          )}
          {task.pull && task.phase === 'in_review' && (
            <Button data-judge className="h-8" icon={<MessageSquareText />} onClick={() => setJudging(true)}>
              {t('Review')}
            </Button>
          )}
          {unread.length > 0 && (
            <Button
              className="h-8"
              onClick={() =>
                change((now) => ({
                  ...now,
                  read: { ...now.read, ...Object.fromEntries(files.map((file) => [file.path, file.sum])) },
                }))
              }
            >
              {t('Mark all read')}
            </Button>
          )}
          <fieldset className="flex rounded-lg bg-well p-0.5 max-sm:hidden">
            <legend className="sr-only">{t('How the diff is laid out')}</legend>
            {(
              [
                [false, t('Unified'), Rows3],
                [true, t('Split'), Columns2],
              ] as const
            ).map(([value, label, Icon]) => (
              <button
                key={label}
                type="button"
                aria-pressed={isSplit === value}
                aria-label={label}
                title={label}
                onClick={() => {
                  setSplit(value)
                  localStorage.setItem('carrel.diff', value ? 'split' : 'unified')
                }}
                className={cx(
                  'grid size-7 place-items-center rounded-md',
                  isSplit === value ? 'bg-card text-ink shadow-card' : 'text-faint hover:text-ink',
                )}
              >
                <Icon aria-hidden className="size-3.5" />
              </button>
            ))}
          </fieldset>
        </div>
      </header>
      <Checks task={task} />
      <Said remarks={said.filter((it) => !it.path)} reviews={verdicts} />
      <JudgeDialog task={task} isOpen={isJudging} onClose={() => setJudging(false)} />
      <div className="grid min-h-0 flex-1 xl:grid-cols-[13rem_minmax(0,1fr)]">
        <Tree
          files={files}
          shown={shown}
          isRead={(file) => review.read[file.path] === file.sum}
          scroller={scroller}
        />
        <div ref={scroller} className="min-h-0 space-y-3 overflow-y-auto bg-desk p-3">
          {shown.map((file) => (
            <FileSection
              key={file.path}
              file={file}
              isSplit={isSplit}
              head={task.head ?? undefined}
              isRead={review.read[file.path] === file.sum}
              comments={review.comments}
              remarks={said.filter((it) => it.path === file.path)}
              onPost={task.pull ? (comment) => void post([comment]) : undefined}
              onRead={(isRead) =>
                change((now) => ({ ...now, read: { ...now.read, [file.path]: isRead ? file.sum : '' } }))
              }
              onComments={(act) => change((now) => ({ ...now, comments: act(now.comments) }))}
            />
          ))}
        </div>
      </div>
    </section>
  )
}

function NothingYet() {
  return (
    <Empty title={t('No changes yet')}>
      <p>{t('What the agent changes against its base is read here, line by line.')}</p>
    </Empty>
  )
}

/** The files by name, to jump to. */
function Tree({
  files,
  shown,
  isRead,
  scroller,
}: {
  files: readonly ReadFile[]
  shown: readonly ReadFile[]
  isRead(file: ReadFile): boolean
  scroller: React.RefObject<HTMLDivElement | null>
}) {
  return (
    <nav
      aria-label={t('Changed files')}
      className="min-h-0 overflow-y-auto border-r border-line py-2 max-xl:hidden"
    >
      <ul>
        {files.map((file) => {
          const slash = file.path.lastIndexOf('/')
          return (
            <li key={file.path}>
              <button
                type="button"
                disabled={!shown.includes(file)}
                title={file.path}
                onClick={() =>
                  scroller.current
                    ?.querySelector(`[data-file="${CSS.escape(file.path)}"]`)
                    ?.scrollIntoView({ block: 'start' })
                }
                className={cx(
                  'flex w-full items-baseline gap-2 px-3 py-1 text-left text-small hover:bg-well',
                  isRead(file) && 'text-faint',
                )}
              >
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-medium">{file.path.slice(slash + 1)}</span>
                  {slash > 0 && (
                    <span className="block truncate text-tiny text-faint">{file.path.slice(0, slash)}</span>
                  )}
                </span>
                <span className="shrink-0 font-mono text-tiny">
                  <span className="text-lamp">+{file.added}</span>{' '}
                  <span className="text-oxblood">−{file.removed}</span>
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
