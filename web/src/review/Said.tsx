/** What was said and judged at the pull request as a whole, wherever that was. */
import { Check as CheckIcon, ChevronRight, ExternalLink, MessageSquare, X } from 'lucide-react'
import { useState } from 'react'
import type { PullComment, PullReview } from '../pull/types'
import { Prose } from '../talk/Prose'
import { cx } from '../ui/cx'
import { Ago } from '../ui/Moments'
import { t, tn } from '../words/words'

const VERDICTS = {
  approved: { word: t('approved'), look: 'text-lamp' },
  changes_requested: { word: t('asked for changes'), look: 'text-oxblood' },
  commented: { word: t('commented'), look: 'text-soft' },
  dismissed: { word: t('was dismissed'), look: 'text-faint' },
} as const

interface SaidProps {
  remarks: readonly PullComment[]
  reviews: readonly PullReview[]
}

export function Said({ remarks, reviews }: SaidProps) {
  const [isOpen, setOpen] = useState(false)
  if (remarks.length + reviews.length === 0) return null
  const last = reviews.at(-1)
  const lines = [
    ...reviews.map((it) => ({ ...it, word: VERDICTS[it.verdict] })),
    ...remarks.map((it) => ({ ...it, at: it.created_at, word: VERDICTS.commented })),
  ].toSorted((a, b) => a.at.localeCompare(b.at))
  return (
    <section
      aria-label={t('Said at the pull request')}
      className="shrink-0 border-b border-line bg-paper text-small"
    >
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full items-center gap-1.5 px-4 py-2 text-left text-soft hover:text-ink"
      >
        <ChevronRight aria-hidden className={cx('size-3.5 transition-transform', isOpen && 'rotate-90')} />
        {last && (
          <span className={cx('font-medium', VERDICTS[last.verdict].look)}>
            {last.author} {VERDICTS[last.verdict].word}
          </span>
        )}
        <span className="text-faint">{tn(lines.length, '{n} remark', '{n} remarks')}</span>
      </button>
      {isOpen && (
        <ol className="max-h-72 space-y-3 overflow-y-auto px-4 pb-3">
          {lines.map((line) => (
            <li key={line.id} data-remark={line.id} className="flex gap-2.5">
              <VerdictMark word={line.word} />
              <div className="min-w-0 flex-1">
                <p className="flex flex-wrap items-baseline gap-x-2">
                  <span className="font-medium">{line.author}</span>
                  <span className={line.word.look}>{line.word.word}</span>
                  <span className="text-faint">
                    <Ago at={line.at} />
                  </span>
                  {'url' in line && isElsewhere(line.url) && (
                    <a href={line.url} target="_blank" rel="noreferrer" className="text-faint hover:text-ink">
                      <ExternalLink aria-label={t('Where it was said')} className="size-3.5" />
                    </a>
                  )}
                </p>
                {line.body && <Prose text={line.body} />}
              </div>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

export const isElsewhere = (url: string) => /^https?:/.test(url) && !url.startsWith(window.location.origin)

function VerdictMark({ word }: { word: (typeof VERDICTS)[keyof typeof VERDICTS] }) {
  const Icon =
    word === VERDICTS.approved ? CheckIcon : word === VERDICTS.changes_requested ? X : MessageSquare
  return <Icon aria-hidden className={cx('mt-0.5 size-4 shrink-0', word.look)} />
}
