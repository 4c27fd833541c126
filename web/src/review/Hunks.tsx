/** The lines of one file, coloured, with comments between them. Loaded when the first file is looked at. */
import { type DiffLineAnnotation, type FileDiffMetadata, processFile } from '@pierre/diffs'
import { FileDiff } from '@pierre/diffs/react'
import { ExternalLink, Plus } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { PullComment } from '../pull/types'
import { Prose } from '../talk/Prose'
import { Button } from '../ui/Button'
import { inputLook } from '../ui/Field'
import { Ago } from '../ui/Moments'
import { Chip } from '../ui/Small'
import { useIsDark } from '../ui/theme'
import { locale, t } from '../words/words'
import { sideOf } from './mirror'
import { beginning, type ReadFile } from './patch'
import { type Comment, type CommentState, type Side, stateOf, sum } from './review'
import { isElsewhere } from './Said'

export interface HunksProps {
  file: ReadFile
  /** Its part of the patch. */
  text: string
  /** The same of the whole file, where this is a part of it. */
  whole: string | undefined
  isSplit: boolean
  head: string | undefined
  comments: readonly Comment[]
  remarks: readonly PullComment[]
  onPost: ((comment: Comment) => void) | undefined
  isAsking: boolean
  onAsked(): void
  onComments(act: (now: readonly Comment[]) => readonly Comment[]): void
}

interface Place {
  side: Side
  line: number
}

type Note = { comment: Comment; state: CommentState } | { remark: PullComment } | { place: Place }

const THEME = { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' } as const

export default function Hunks({
  file,
  text: all,
  whole: ofWhole,
  isSplit,
  head,
  comments,
  remarks,
  onPost,
  isAsking,
  onAsked,
  onComments,
}: HunksProps) {
  const isDark = useIsDark()
  const [most, setMost] = useState(LINES_AT_ONCE)
  const text = useMemo(() => beginning(all, most), [all, most])
  const isCut = text !== all
  const parsed = useMemo(() => processFile(text, { cacheKey: sum(text), isGitDiff: true }), [text])
  const whole = useMemo(() => {
    const base = file.whole ? ofWhole : all
    if (base === undefined || base === text) return parsed
    return processFile(base, { cacheKey: sum(base), isGitDiff: true })
  }, [file.whole, ofWhole, all, text, parsed])
  const [place, setPlace] = useState<Place>()
  const options = useMemo(
    () => ({
      theme: THEME,
      themeType: isDark ? ('dark' as const) : ('light' as const),
      diffStyle: isSplit ? ('split' as const) : ('unified' as const),
      overflow: 'scroll' as const,
      disableFileHeader: true,
      hunkSeparators: 'line-info-basic' as const,
      lineDiffType: 'word-alt' as const,
      // Web assembly would need a wider content policy than ours.
      preferredHighlighter: 'shiki-js' as const,
      enableGutterUtility: true,
      unsafeCSS: CSS,
      onPostRender: reachable,
    }),
    [isDark, isSplit],
  )
  if (!parsed || parsed.hunks.length === 0)
    return <p className="px-4 py-3 text-small text-soft">{t('Nothing but its name or mode changed.')}</p>

  const notes: DiffLineAnnotation<Note>[] = comments.map((comment) => ({
    side: comment.side,
    lineNumber: comment.line,
    metadata: { comment, state: stateOf(comment, whole && lineAt(whole, comment), head) },
  }))
  for (const remark of remarks)
    notes.push({ side: sideOf(remark), lineNumber: remark.line ?? 0, metadata: { remark } })
  // A comment whose line left the diff is shown above it, not lost.
  const [placed, strays] = split(
    notes,
    // Numbers of removed lines are those of the base, and a part begins somewhere else.
    (it) =>
      (it.side === 'additions' || !file.part) &&
      lineAt(parsed, { side: it.side, line: it.lineNumber }) !== undefined,
  )
  if (place) placed.push({ side: place.side, lineNumber: place.line, metadata: { place } })

  const add = (at: Place, text: string) => {
    const code = lineAt(parsed, at) ?? ''
    const id = `${Date.now().toString(36)}-${Math.round(performance.now() * 1000).toString(36)}`
    const isBetween = file.part !== undefined && at.side === 'deletions'
    onComments((now) => [
      ...now,
      {
        id,
        path: file.path,
        side: at.side,
        line: at.line,
        code,
        text,
        ...(isBetween ? { isBetween: true as const } : {}),
      },
    ])
    setPlace(undefined)
  }
  const render = (note: Note) =>
    'place' in note ? (
      <CommentForm
        place={note.place}
        onAdd={(text) => add(note.place, text)}
        onCancel={() => setPlace(undefined)}
      />
    ) : 'remark' in note ? (
      <RemarkCard remark={note.remark} />
    ) : (
      <CommentCard
        note={note}
        onPost={
          onPost && note.state !== 'draft' && !note.comment.isPosted ? () => onPost(note.comment) : undefined
        }
        onRemove={() => onComments((now) => now.filter((it) => it.id !== note.comment.id))}
      />
    )

  return (
    <>
      {isAsking && (
        <AskLine
          parsed={parsed}
          onPick={(at) => {
            setPlace(at)
            onAsked()
          }}
          onCancel={onAsked}
        />
      )}
      {strays.map((it) => (
        <div key={nameOf(it.metadata)}>{render(it.metadata)}</div>
      ))}
      <FileDiff<Note>
        fileDiff={parsed}
        options={options}
        lineAnnotations={placed}
        renderAnnotation={(annotation) => render(annotation.metadata)}
        renderGutterUtility={(getHoveredLine) => (
          <button
            type="button"
            aria-label={t('Comment on this line')}
            className="grid size-5 place-items-center rounded bg-lamp text-on-lamp shadow-card"
            onClick={() => {
              const hovered = getHoveredLine()
              if (hovered) setPlace({ side: hovered.side, line: hovered.lineNumber })
            }}
          >
            <Plus aria-hidden className="size-3.5" />
          </button>
        )}
      />
      {isCut && (
        <p className="flex flex-wrap items-center gap-3 border-t border-line bg-paper px-4 py-2.5 text-small text-soft">
          {t('The first {n} lines of this file are shown.', { n: most.toLocaleString(locale()) })}
          <Button isSmall onClick={() => setMost(most + LINES_AT_ONCE)}>
            {t('Show more')}
          </Button>
          <Button tone="quiet" isSmall onClick={() => setMost(Number.POSITIVE_INFINITY)}>
            {t('Show all, which may take a while')}
          </Button>
        </p>
      )}
    </>
  )
}

/** As many lines as are drawn at once: a page draws so many before somebody wonders. */
const LINES_AT_ONCE = 1_500

const CSS = `:host {
  --diffs-font-family: "Source Code Pro", ui-monospace, monospace;
  --diffs-font-size: 12.5px;
  --diffs-line-height: 20px;
  --diffs-light-bg: var(--card);
  --diffs-dark-bg: var(--card);
  --diffs-bg-context-override: var(--card);
  --diffs-bg-context-gutter-override: var(--card);
  --diffs-bg-separator-override: var(--paper);
  --diffs-bg-buffer-override: var(--paper);
  /* In the dark the usual ones leave too little between a changed word and its ground. */
  --diffs-bg-addition-override: light-dark(
    color-mix(in lab, var(--card) 88%, var(--diffs-addition-base)),
    color-mix(in lab, var(--card) 90%, var(--diffs-addition-base))
  );
  --diffs-bg-addition-emphasis-override: light-dark(
    rgb(from var(--diffs-addition-base) r g b / 0.15),
    rgb(from var(--diffs-addition-base) r g b / 0.1)
  );
  --diffs-bg-deletion-override: light-dark(
    color-mix(in lab, var(--card) 88%, var(--diffs-deletion-base)),
    color-mix(in lab, var(--card) 90%, var(--diffs-deletion-base))
  );
  --diffs-bg-deletion-emphasis-override: light-dark(
    rgb(from var(--diffs-deletion-base) r g b / 0.15),
    rgb(from var(--diffs-deletion-base) r g b / 0.1)
  );
}
/* The theme's grey for comments is too faint on a changed word. */
[style*="#66707b" i] {
  --diffs-token-light: #4b545e !important;
}`

/** Lines that are longer than the page can be scrolled by keyboard too. */
function reachable(node: HTMLElement): void {
  for (const code of (node.shadowRoot ?? node).querySelectorAll<HTMLElement>('code[data-code]')) {
    if (code.scrollWidth > code.clientWidth) code.tabIndex = 0
    else code.removeAttribute('tabindex')
  }
}

/** The text of a line of the diff; nothing when the diff does not show it. */
function lineAt(parsed: FileDiffMetadata, { side, line }: Place): string | undefined {
  for (const hunk of parsed.hunks) {
    const [start, amount, index] =
      side === 'additions'
        ? [hunk.additionStart, hunk.additionCount, hunk.additionLineIndex]
        : [hunk.deletionStart, hunk.deletionCount, hunk.deletionLineIndex]
    if (line >= start && line < start + amount) {
      const lines = side === 'additions' ? parsed.additionLines : parsed.deletionLines
      return lines[index + line - start]
    }
  }
  return undefined
}

function split<T>(list: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [list.filter(isFirst), list.filter((it) => !isFirst(it))]
}

function CommentForm({
  place,
  onAdd,
  onCancel,
}: {
  place: Place
  onAdd(text: string): void
  onCancel(): void
}) {
  const [text, setText] = useState('')
  return (
    <form
      className="my-1 max-w-2xl space-y-2 p-3 font-sans whitespace-normal"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim()) onAdd(text.trim())
      }}
    >
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the form was opened to write here
        autoFocus
        rows={3}
        aria-label={t('Comment on line {line}', { line: place.line })}
        placeholder={t('What should be different here?')}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          event.stopPropagation()
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && text.trim()) onAdd(text.trim())
        }}
        className={`${inputLook} h-auto py-2 font-sans`}
      />
      <div className="flex gap-2">
        <Button type="submit" tone="primary" isSmall disabled={!text.trim()}>
          {t('Add to the review')}
        </Button>
        <Button tone="quiet" isSmall onClick={onCancel}>
          {t('Cancel')}
        </Button>
      </div>
    </form>
  )
}

const nameOf = (note: Note) =>
  'comment' in note ? note.comment.id : 'remark' in note ? note.remark.id : 'place'

/** What somebody said of a line, here or at the forge. */
function RemarkCard({ remark }: { remark: PullComment }) {
  return (
    <div
      data-remark={remark.id}
      className="m-2 max-w-2xl rounded-xl border border-line bg-paper px-3 py-2 font-sans whitespace-normal text-ink shadow-card"
    >
      <p className="flex items-center gap-2 text-small text-faint">
        <span className="font-medium text-soft">{remark.author}</span>
        {remark.line != null && <span>{t('line {line}', { line: remark.line })}</span>}
        <Ago at={remark.created_at} />
        {isElsewhere(remark.url) && (
          <a href={remark.url} target="_blank" rel="noreferrer" className="ml-auto hover:text-ink">
            <ExternalLink aria-label={t('Where it was said')} className="size-3.5" />
          </a>
        )}
      </p>
      <div className="mt-1">
        <Prose text={remark.body} />
      </div>
    </div>
  )
}

const STATES: Record<CommentState, { word: string; tone: 'brass' | 'plain' | 'lamp' }> = {
  draft: { word: t('not sent yet'), tone: 'brass' },
  sent: { word: t('sent'), tone: 'plain' },
  addressed: { word: t('addressed'), tone: 'lamp' },
}

function CommentCard({
  note,
  onPost,
  onRemove,
}: {
  note: { comment: Comment; state: CommentState }
  /** Puts it on the pull request, where that did not work the first time. */
  onPost: (() => void) | undefined
  onRemove(): void
}) {
  const { comment, state } = note
  return (
    <div
      data-comment={state}
      className="m-2 max-w-2xl rounded-xl border border-line bg-paper px-3 py-2 font-sans whitespace-normal text-ink shadow-card"
    >
      <p className="flex items-center gap-2 text-small text-faint">
        {t('line {line}', { line: comment.line })} <Chip tone={STATES[state].tone}>{STATES[state].word}</Chip>
        <span className="ml-auto flex gap-3">
          {onPost && (
            <button type="button" onClick={onPost} className="hover:text-ink">
              {t('Post at the pull request')}
            </button>
          )}
          <button type="button" onClick={onRemove} className="hover:text-oxblood">
            {t('Remove')}
          </button>
        </span>
      </p>
      <p className="mt-1 whitespace-pre-wrap wrap-anywhere">{comment.text}</p>
    </div>
  )
}

/** A line by its number, for hands without a pointer. */
function AskLine({
  parsed,
  onPick,
  onCancel,
}: {
  parsed: FileDiffMetadata
  onPick(place: Place): void
  onCancel(): void
}) {
  const [text, setText] = useState(String(parsed.hunks[0]?.additionStart ?? 1))
  const line = Number(text)
  const isThere = lineAt(parsed, { side: 'additions', line }) !== undefined
  return (
    <form
      className="flex flex-wrap items-center gap-2 border-b border-line bg-paper px-3 py-2 text-small"
      onSubmit={(event) => {
        event.preventDefault()
        if (isThere) onPick({ side: 'additions', line })
      }}
    >
      <label className="flex items-center gap-2">
        {t('Comment on line')}
        <input
          // biome-ignore lint/a11y/noAutofocus: the form was opened to write here
          autoFocus
          inputMode="numeric"
          value={text}
          onChange={(event) => setText(event.target.value)}
          className={`${inputLook} h-8 w-20`}
        />
      </label>
      <Button type="submit" isSmall disabled={!isThere}>
        {t('Write')}
      </Button>
      <Button tone="quiet" isSmall onClick={onCancel}>
        {t('Cancel')}
      </Button>
      {!isThere && <span className="text-faint">{t('That line is not in this diff.')}</span>}
    </form>
  )
}
