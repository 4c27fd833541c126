/** The review: files first, hunks when they come into sight, comments on lines, and one message for all of them. */
import { useQuery } from '@tanstack/react-query'
import { Columns2, Rows3, Send } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Refusal, say } from '../api/problem'
import type { PullComment } from '../pull/types'
import type { DiffPlace } from '../task/queries'
import type { Moment } from '../task/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Empty, Skeleton, Trouble } from '../ui/Small'
import { Switch } from '../ui/Switch'
import { useShortcuts } from '../ui/shortcuts'
import { toast } from '../ui/Toast'
import { t, tn } from '../words/words'
import { ChangedFiles, ChangedFilesMenu } from './ChangedFiles'
import { changedFiles } from './changes'
import { FileSection } from './FileSection'
import { checkpointNow, newSince, sinceCheckpoint } from './lastReview'
import type { ReadFile } from './patch'
import { type Comment, drafts, inOneMessage, type Review, type Reviewed, useReview } from './review'
import { goToFile } from './walk'

interface ReadingProps {
  /** Whose work it is. */
  of: Reviewed
  branch: string
  /** What its comments are sent at: a commit. */
  head: string | undefined
  /** Somebody is at it: what is saved may be ahead of the timeline. */
  isBusy: boolean
  moments: readonly Moment[] | undefined
  /** What it changed against its base; or against a checkpoint. */
  diffOf(since?: number): DiffPlace
  /** The checkpoint that it is compared with; its base otherwise. */
  since?: number | undefined
  /** Leads back to the whole. */
  onAll(): void
  /** Says all drafts to the agent in one message; answers whether it was taken. Without an agent they are put at the pull alone. */
  onSend?: ((text: string) => Promise<boolean>) | undefined
  /** Puts a comment where the pull request lives, where there is one. */
  onMirror?: ((comment: Comment) => Promise<void>) | undefined
  /** What others said of it, besides the comments that are this browser's own. */
  remarks?: ((own: readonly Comment[]) => readonly PullComment[]) | undefined
  /** What stands above the diff. */
  above?: ((remarks: readonly PullComment[]) => ReactNode) | undefined
  /** What else can be done with the whole. */
  corner?: ReactNode
}

export function Reading({
  of,
  branch,
  head,
  isBusy,
  moments,
  diffOf,
  since,
  onAll,
  onSend,
  onMirror,
  remarks,
  above,
  corner,
}: ReadingProps) {
  const all = useQuery({
    ...changedFiles(diffOf()),
    placeholderData: (before) => before,
  })
  const fromThere = useQuery({ ...changedFiles(diffOf(since)), enabled: since !== undefined })
  const files = all.data ?? NONE
  const [review, change] = useReview(of)
  const [isSplit, setSplit] = useState(() => localStorage.getItem('carrel.diff') === 'split')
  const [onlyNew, setOnlyNew] = useState(true)
  const [isSending, setSending] = useState(false)
  const said = remarks?.(review.comments) ?? []
  const scroller = useRef<HTMLDivElement>(null)
  useShortcuts({
    j: () => scroller.current && goToFile(scroller.current, 1),
    k: () => scroller.current && goToFile(scroller.current, -1),
  })

  const unread = files.filter((file) => review.read[file.path] !== file.sum)
  const wasRead = files.length > unread.length
  const isOnlyNew = onlyNew && wasRead && unread.length > 0
  const here = checkpointNow(moments, isBusy)
  const changed = useQuery({
    ...changedFiles(diffOf(review.at)),
    enabled: isOnlyNew && since === undefined && review.at !== undefined && review.at !== here,
  })
  const parts = changed.isEnabled ? changed.data : undefined
  const later = useMemo(
    () =>
      since === undefined || fromThere.data === undefined
        ? undefined
        : sinceCheckpoint(fromThere.data, files),
    [since, fromThere.data, files],
  )
  const listed = later ?? files
  const shown = later ?? (isOnlyNew ? newSince(unread, parts) : files)
  const waiting = drafts(review)
  const drawn = useGrowing(shown.length)

  if (all.isPending || (since !== undefined && fromThere.isPending))
    return (
      <div role="status" aria-label={t('Loading')} className="space-y-3 p-4">
        <Skeleton className="h-10" />
        <Skeleton className="h-48" />
        <Skeleton className="h-32" />
      </div>
    )
  if (all.isError && !all.data) {
    const isNothing = all.error instanceof Refusal && [404, 409].includes(all.error.status)
    return isNothing ? (
      <NothingYet />
    ) : (
      <div className="p-4">
        <Trouble title={t('The diff could not be read')} detail={say(all.error)}>
          <Button onClick={() => void all.refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  }
  if (since !== undefined && !later)
    return (
      <div className="p-4">
        <Trouble
          title={t('What changed since the checkpoint could not be read')}
          detail={say(fromThere.error)}
        >
          <span className="flex gap-2">
            <Button onClick={() => void fromThere.refetch()}>{t('Try again')}</Button>
            <Button onClick={onAll}>{t('Show all')}</Button>
          </span>
        </Trouble>
      </div>
    )
  if (files.length === 0 && since === undefined) return <NothingYet />

  /** All of it was read, as it is now. A part that was looked at by itself is not all of it. */
  const allRead = (now: Review): Pick<Review, 'read' | 'at'> =>
    since === undefined
      ? {
          read: { ...now.read, ...Object.fromEntries(files.map((file) => [file.path, file.sum])) },
          at: here,
        }
      : now

  const send = async () => {
    setSending(true)
    if (!onSend) {
      if (onMirror) await post(onMirror, waiting)
      setSending(false)
      return
    }
    const isSent = await onSend(inOneMessage(waiting, branch))
    setSending(false)
    if (!isSent) return
    const ids = new Set(waiting.map((it) => it.id))
    change((now) => ({
      ...now,
      comments: now.comments.map((it) => (ids.has(it.id) ? { ...it, sentAt: head ?? '' } : it)),
      ...allRead(now),
    }))
    toast(t('{size} sent to the agent', { size: tn(ids.size, '{n} comment', '{n} comments') }))
    if (onMirror) await post(onMirror, waiting)
  }

  // The agent has heard them; this is for people who look at the pull request.
  const post = async (mirror: (comment: Comment) => Promise<void>, comments: readonly Comment[]) => {
    for (const comment of comments) {
      try {
        await mirror(comment)
        change((now) => ({
          ...now,
          // Where there is no agent, what stands at the pull is all there is of it.
          comments: onSend
            ? now.comments.map((it) => (it.id === comment.id ? { ...it, isPosted: true as const } : it))
            : now.comments.filter((it) => it.id !== comment.id),
        }))
      } catch (error) {
        toast(t('A comment could not be put on the pull request'), say(error), 'bad')
        return
      }
    }
  }

  const tree = {
    files: listed,
    shown: new Set(shown.map((file) => file.path)),
    isRead: (file: ReadFile) => review.read[file.path] === file.sum,
    scroller,
  }
  const added = listed.reduce((total, file) => total + file.added, 0)
  const removed = listed.reduce((total, file) => total + file.removed, 0)
  return (
    <section aria-label={t('Diff')} className="flex min-h-0 flex-1 flex-col">
      <header className="flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-4 py-2 text-small">
        <p className="flex gap-2 font-medium">
          <ChangedFilesMenu {...tree}>{tn(listed.length, '{n} file', '{n} files')}</ChangedFilesMenu>
          <span className="max-xl:hidden">{tn(listed.length, '{n} file', '{n} files')}</span>{' '}
          <span className="text-lamp">+{added}</span> <span className="text-oxblood">−{removed}</span>
        </p>
        {since !== undefined && (
          <p
            data-since={since}
            className="flex items-center gap-1.5 rounded-md bg-brass-wash px-1.5 leading-6 text-brass"
          >
            {t('Only since a checkpoint')} <span aria-hidden>·</span>
            <button type="button" onClick={onAll} className="underline underline-offset-4 hover:text-ink">
              {t('Show all')}
            </button>
          </p>
        )}
        {since === undefined && wasRead && (
          <Switch isOn={onlyNew} onChange={setOnlyNew}>
            {unread.length === 0 ? t('Since my last review: nothing') : t('Since my last review')}
          </Switch>
        )}
        <div className="ml-auto flex items-center gap-2">
          {waiting.length > 0 && (
            <Button tone="primary" isSmall icon={<Send />} isBusy={isSending} onClick={() => void send()}>
              {tn(waiting.length, 'Send {n} comment', 'Send {n} comments')}
            </Button>
          )}
          {corner}
          {since === undefined && unread.length > 0 && (
            <Button isSmall onClick={() => change((now) => ({ ...now, ...allRead(now) }))}>
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
                  isSplit === value ? 'bg-raised text-ink shadow-card' : 'text-faint hover:text-ink',
                )}
              >
                <Icon aria-hidden className="size-3.5" />
              </button>
            ))}
          </fieldset>
        </div>
      </header>
      {above?.(said.filter((it) => !it.path))}
      <div className="grid min-h-0 flex-1 xl:grid-cols-[13rem_minmax(0,1fr)]">
        <ChangedFiles {...tree} />
        <div ref={scroller} className="min-h-0 space-y-3 overflow-y-auto bg-desk p-3">
          {shown.length === 0 && (
            <Empty title={t('Nothing changed since that checkpoint')}>
              <div>
                <Button onClick={onAll}>{t('Show all')}</Button>
              </div>
            </Empty>
          )}
          {shown.slice(0, drawn).map((file) => (
            <FileSection
              key={`${file.path} ${file.part ?? ''}`}
              file={file}
              isSplit={isSplit}
              head={head}
              isRead={file.part !== 'checkpoint' && review.read[file.path] === (file.whole ?? file).sum}
              comments={review.comments}
              remarks={said.filter((it) => it.path === file.path)}
              onPost={onMirror && ((comment) => void post(onMirror, [comment]))}
              onRead={
                file.part === 'checkpoint'
                  ? undefined
                  : (isRead) =>
                      change((now) => ({
                        ...now,
                        read: { ...now.read, [file.path]: isRead ? (file.whole ?? file).sum : '' },
                      }))
              }
              onComments={(act) => change((now) => ({ ...now, comments: act(now.comments) }))}
            />
          ))}
        </div>
      </div>
    </section>
  )
}

const NONE: readonly ReadFile[] = []

/** As many files as are drawn at first, and with each further breath. */
const FIRST = 60
const BREATH = 150

/** Counts up to a number, a breath at a time: a change of thousands of files is listed at once, and drawn without standing still. */
function useGrowing(all: number): number {
  const [drawn, setDrawn] = useState(FIRST)
  useEffect(() => {
    if (drawn >= all) return
    const timer = setTimeout(() => setDrawn(drawn + BREATH), 30)
    return () => clearTimeout(timer)
  }, [drawn, all])
  return drawn
}

function NothingYet() {
  return (
    <Empty title={t('No changes yet')}>
      <p>{t('What the agent changes against its base is read here, line by line.')}</p>
    </Empty>
  )
}
