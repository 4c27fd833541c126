/** One file of a diff: folded or open, read or not, with comments on its lines. */
import { useQuery } from '@tanstack/react-query'
import { ChevronRight, MessageSquarePlus } from 'lucide-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { say } from '../api/problem'
import type { PullComment } from '../pull/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Chip, Skeleton, Trouble } from '../ui/Small'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { hasLines, linesOf } from './changes'
import type { HunksProps } from './Hunks'
import type { ReadFile } from './patch'
import { type Comment, isFolded, MANY_LINES } from './review'

const Hunks = lazy(() => import('./Hunks'))

interface FileSectionProps {
  file: ReadFile
  isSplit: boolean
  isRead: boolean
  head: string | undefined
  comments: readonly Comment[]
  /** What others said of this file. */
  remarks: readonly PullComment[]
  onPost: ((comment: Comment) => void) | undefined
  /** Nothing where a part is looked at by itself: that is not the file. */
  onRead: ((isRead: boolean) => void) | undefined
  onComments(act: (now: readonly Comment[]) => readonly Comment[]): void
}

export function FileSection({
  file,
  isSplit,
  isRead,
  head,
  comments,
  remarks,
  onPost,
  onRead,
  onComments,
}: FileSectionProps) {
  const own = comments.filter((it) => it.path === file.path)
  const [isOpen, setOpen] = useState(
    () => own.length + remarks.length > 0 || (!isFolded(file.path) && file.lines <= MANY_LINES && !isRead),
  )
  const [isSeen, setSeen] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const home = useRef<HTMLElement>(null)

  // Hunks are made when the file comes near: a thousand files cost a thousand headings.
  useEffect(() => {
    if (isSeen || !isOpen || !home.current) return
    const watch = new IntersectionObserver(([it]) => it?.isIntersecting && setSeen(true), {
      // What is scrolled is the list around it: only of that is nearness counted beyond its edge.
      root: home.current.parentElement,
      rootMargin: '800px',
    })
    watch.observe(home.current)
    return () => watch.disconnect()
  }, [isSeen, isOpen])

  return (
    <section
      ref={home}
      data-file={file.path}
      aria-label={file.path}
      className="overflow-hidden rounded-xl border border-line bg-card"
    >
      <header className="flex min-h-10 items-center gap-2 px-2 py-1">
        <button
          type="button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          className="flex min-w-0 flex-1 items-center gap-1.5 rounded-md text-left"
        >
          <ChevronRight
            aria-hidden
            className={cx('size-4 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
          />
          <span className="min-w-0 truncate font-mono text-small" title={file.path}>
            {file.before && (
              <span className="text-faint">
                <bdi>{file.before}</bdi> →{' '}
              </span>
            )}
            <bdi>{file.path}</bdi>
          </span>
          {file.kind !== 'changed' && (
            <Chip tone={file.kind === 'removed' ? 'bad' : 'lamp'}>{worded(file.kind)}</Chip>
          )}
          {isFolded(file.path) && <Chip>{t('generated')}</Chip>}
          {file.part === 'review' && <Chip tone="brass">{t('since your review')}</Chip>}
          {file.part === 'checkpoint' && <Chip tone="brass">{t('since the checkpoint')}</Chip>}
        </button>
        <span className="shrink-0 font-mono text-tiny">
          <span className="text-lamp">+{file.added}</span>{' '}
          <span className="text-oxblood">−{file.removed}</span>
        </span>
        <Button
          tone="quiet"
          isSmall
          className="px-2!"
          aria-label={t('Comment on {path}', { path: file.path })}
          title={t('Comment on a line')}
          onClick={() => {
            setOpen(true)
            setSeen(true)
            setAsking(true)
          }}
        >
          <MessageSquarePlus aria-hidden className="size-4" />
        </Button>
        {onRead && (
          <label className="flex items-center gap-1.5 pr-1 text-small text-soft">
            <input
              type="checkbox"
              checked={isRead}
              onChange={(event) => {
                onRead(event.target.checked)
                setOpen(!event.target.checked)
              }}
              className="accent-(--lamp)"
            />
            {t('Read')}
          </label>
        )}
      </header>
      {isOpen && (
        <div className="border-t border-line">
          {file.isBinary ? (
            <p className="px-4 py-3 text-small text-soft">{t('A binary file.')}</p>
          ) : !hasLines(file) ? (
            <p className="px-4 py-3 text-small text-soft">{t('Nothing but its name or mode changed.')}</p>
          ) : isSeen ? (
            <Lines
              file={file}
              isSplit={isSplit}
              head={head}
              comments={own}
              remarks={remarks}
              onPost={onPost}
              isAsking={isAsking}
              onAsked={() => setAsking(false)}
              onComments={onComments}
            />
          ) : (
            <div style={{ height: room(file) }} />
          )}
        </div>
      )}
    </section>
  )
}

/** The lines of a file that is looked at: asked for now, and drawn when they are here. */
function Lines({ file, ...rest }: Omit<HunksProps, 'text' | 'whole'>) {
  // What somebody writes between the lines stays while newer ones are on their way.
  const lines = useQuery({ ...linesOf(file), placeholderData: (before) => before })
  // Whether a line has changed is looked up in all of the file against its base, whatever is shown of it.
  const whole = useQuery({
    ...linesOf(file.whole ?? file),
    enabled: Boolean(file.whole) && rest.comments.length > 0,
  })
  if (lines.isError && lines.data === undefined)
    return (
      <div className="p-3">
        <Trouble title={t('The lines of this file could not be read')} detail={say(lines.error)}>
          <Button onClick={() => void lines.refetch()}>{t('Try again')}</Button>
        </Trouble>
      </div>
    )
  if (lines.data === undefined || (whole.isEnabled && whole.isPending)) return <Waiting file={file} />
  return (
    <Suspense fallback={<Waiting file={file} />}>
      <Hunks file={file} text={lines.data} whole={whole.data} {...rest} />
    </Suspense>
  )
}

function Waiting({ file }: { file: ReadFile }) {
  return (
    <div style={{ height: room(file) }} className="p-3">
      <Skeleton className="h-full max-h-40" />
    </div>
  )
}

/** As much as its lines will take, so that little jumps when they come. */
const room = (file: ReadFile) => Math.min(file.lines, MANY_LINES) * 20 + 40
