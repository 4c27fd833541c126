import { ChevronRight, CircleAlert, GitCommitHorizontal, GitFork, Hand, Lamp, Wrench } from 'lucide-react'
import { memo, useState } from 'react'
import { AgentMark } from '../agent/AgentMark'
import type { Moment } from '../task/types'
import { cx } from '../ui/cx'
import { Ago } from '../ui/Moments'
import { dollars } from '../ui/money'
import { locale, t, tn } from '../words/words'
import { Prose } from './Prose'
import { type Row, summary, toolWords } from './rows'

interface MomentRowProps {
  row: Row
  agent: string | null | undefined
  onSince?: ((seq: number) => void) | undefined
  onOpen?: ((seq: number) => void) | undefined
  onFork?: ((seq: number) => void) | undefined
}

export const MomentRow = memo(
  function MomentRow({ row, agent, onSince, onOpen, onFork }: MomentRowProps) {
    return (
      <li data-moment={row.key} className="row-lazy">
        {row.kind === 'tools' ? (
          <Tools moments={row.moments} />
        ) : (
          <One moment={row.moment} agent={agent} onSince={onSince} onOpen={onOpen} onFork={onFork} />
        )}
      </li>
    )
  },
  (a, b) =>
    a.agent === b.agent &&
    a.onFork === b.onFork &&
    a.onOpen === b.onOpen &&
    a.onSince === b.onSince &&
    a.row.kind === b.row.kind &&
    (a.row.kind === 'one' && b.row.kind === 'one'
      ? a.row.moment === b.row.moment
      : a.row.kind === 'tools' &&
        b.row.kind === 'tools' &&
        a.row.moments.length === b.row.moments.length &&
        a.row.moments.every((it, at) => it === (b.row as { moments: readonly Moment[] }).moments[at])),
)

function One({ moment, agent, onSince, onOpen, onFork }: { moment: Moment } & Omit<MomentRowProps, 'row'>) {
  switch (moment.kind) {
    case 'message':
      return <Message moment={moment} agent={agent} />
    case 'tool':
      return <Tool moment={moment} />
    case 'thought':
      return <Thought moment={moment} />
    case 'checkpoint':
      return <Checkpoint moment={moment} onSince={onSince} onOpen={onOpen} onFork={onFork} />
    case 'question':
      return (
        <div className="flex gap-2.5 rounded-2xl border border-brass/50 bg-brass-wash px-3.5 py-2">
          <Hand aria-label={t('A question')} className="mt-1 size-4 shrink-0 text-brass" />
          <Prose text={moment.text ?? ''} />
        </div>
      )
    case 'note':
      return (
        <p className="flex items-baseline gap-2 text-small text-soft">
          <Lamp aria-hidden className="size-3.5 shrink-0 translate-y-0.5 text-brass" />
          <span className="min-w-0 flex-1 wrap-anywhere">{moment.text}</span>
          <span className="shrink-0 text-tiny text-faint">
            <Ago at={moment.at} />
          </span>
        </p>
      )
  }
}

function Message({ moment, agent }: { moment: Moment; agent: string | null | undefined }) {
  const isPerson = moment.role === 'user'
  const cost = dollars(moment.cost_usd)
  return (
    <article className={cx('flex gap-2.5', isPerson && 'flex-row-reverse')}>
      {!isPerson && <AgentMark name={moment.role === 'house' ? 'carrel' : agent} className="mt-1" />}
      <div
        className={cx(
          'min-w-0 max-w-[92%] rounded-2xl px-3.5 py-2',
          isPerson ? 'rounded-tr-md bg-lamp-wash' : 'rounded-tl-md border border-line bg-card shadow-card',
        )}
      >
        <Prose text={moment.text ?? ''} />
        <p className="mt-1 flex gap-2 text-tiny text-faint">
          <span className="sr-only">{isPerson ? t('You') : (agent ?? t('Agent'))}</span>
          <Ago at={moment.at} />
          {cost && <span>{cost}</span>}
        </p>
      </div>
    </article>
  )
}

function Fold({
  head,
  isBad = false,
  children,
}: {
  head: React.ReactNode
  isBad?: boolean
  children: React.ReactNode
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="ml-7">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className={cx(
          'flex max-w-full items-center gap-1.5 rounded-md text-left text-small hover:text-ink',
          isBad ? 'text-oxblood' : 'text-soft',
        )}
      >
        <ChevronRight
          aria-hidden
          className={cx('size-3.5 shrink-0 transition-transform', isOpen && 'rotate-90')}
        />
        {head}
      </button>
      {isOpen && <div className="mt-1.5 mb-1 ml-5 space-y-1.5">{children}</div>}
    </div>
  )
}

function Tools({ moments }: { moments: readonly Moment[] }) {
  const failed = moments.filter((it) => it.tool?.ok === false).length
  const latest = moments.at(-1)
  return (
    <Fold
      head={
        <>
          <Wrench aria-hidden className="size-3.5 shrink-0" />
          <span className="truncate">
            {tn(moments.length, '{n} step', '{n} steps')}: {summary(moments)}
            {latest && <span className="text-faint"> · {toolWords(latest)}</span>}
          </span>
          {failed > 0 && <span className="shrink-0 text-oxblood">{t('{failed} failed', { failed })}</span>}
        </>
      }
    >
      {moments.map((moment) => (
        <div key={moment.seq} className="-ml-7">
          <Tool moment={moment} />
        </div>
      ))}
    </Fold>
  )
}

function Tool({ moment }: { moment: Moment }) {
  const tool = moment.tool
  const isBad = tool?.ok === false
  const input =
    typeof tool?.input === 'string'
      ? tool.input
      : tool?.input == null
        ? undefined
        : JSON.stringify(tool.input, null, 2)
  return (
    <Fold
      isBad={isBad}
      head={
        <>
          {isBad ? (
            <CircleAlert aria-label={t('Failed')} className="size-3.5 shrink-0" />
          ) : (
            <Wrench aria-hidden className="size-3.5 shrink-0" />
          )}
          <span className="truncate font-mono">{toolWords(moment)}</span>
        </>
      }
    >
      {input && <Block label={t('Asked')}>{input}</Block>}
      {tool?.output ? (
        <Block label={t('Answered')}>{tool.output}</Block>
      ) : (
        <p className="text-small text-faint">{tool?.ok == null ? t('It runs.') : t('It printed nothing.')}</p>
      )}
    </Fold>
  )
}

/** A longer text is drawn when somebody wants it. */
const LONGEST = 20_000

function Block({ label, children }: { label: string; children: string }) {
  const [isWhole, setWhole] = useState(false)
  const isCut = children.length > LONGEST && !isWhole
  return (
    <div>
      <p className="text-tiny text-faint">{label}</p>
      <pre className="max-h-80 overflow-auto rounded-lg bg-well px-3 py-2 font-mono text-tiny leading-4.5 whitespace-pre-wrap wrap-anywhere">
        {isCut ? `${children.slice(0, LONGEST)}\n…` : children}
      </pre>
      {isCut && (
        <p className="mt-1 flex items-center gap-3 text-tiny text-faint">
          {t('{shown} of {all} letters', {
            shown: LONGEST.toLocaleString(locale()),
            all: children.length.toLocaleString(locale()),
          })}
          <button
            type="button"
            onClick={() => setWhole(true)}
            className="text-lamp underline-offset-4 hover:underline"
          >
            {t('Show all of it')}
          </button>
        </p>
      )}
    </div>
  )
}

function Thought({ moment }: { moment: Moment }) {
  const text = moment.text ?? ''
  const first = text.split('\n')[0] ?? ''
  return (
    <Fold head={<span className="truncate font-serif italic">{first || t('A thought')}</span>}>
      <p className="font-serif text-small whitespace-pre-wrap text-soft italic wrap-anywhere">{text}</p>
    </Fold>
  )
}

/** A place to come back to: what was saved, and what can be done from here. */
function Checkpoint({
  moment,
  onSince,
  onOpen,
  onFork,
}: {
  moment: Moment
  onSince?: ((seq: number) => void) | undefined
  onOpen?: ((seq: number) => void) | undefined
  onFork?: ((seq: number) => void) | undefined
}) {
  const files = moment.files ?? []
  const commit = moment.commit ?? undefined
  return (
    <div className="space-y-0.5 rounded-xl bg-well/50 px-3 py-2 text-small text-soft *:flex *:items-center *:gap-x-3">
      <p>
        <GitCommitHorizontal aria-hidden className="size-4 shrink-0 text-lamp" />
        <span className="min-w-0 flex-1 truncate">
          {moment.text || t('Saved')}
          {files.length > 0 && (
            <span className="text-faint"> · {tn(files.length, '{n} file', '{n} files')}</span>
          )}
        </span>
        <span className="shrink-0 text-tiny text-faint">
          <Ago at={moment.at} />
        </span>
      </p>
      {(commit || moment.desk) && (
        <div className="flex-wrap sm:pl-7">
          {commit && <code className="font-mono text-tiny text-faint">{commit.slice(0, 9)}</code>}
          {moment.desk && <code className="font-mono text-tiny text-faint">{moment.desk.sandbox_id}</code>}
          {commit && onSince && (
            <button
              type="button"
              onClick={() => onSince(moment.seq)}
              className="text-lamp underline-offset-4 hover:underline"
            >
              {t('Diff since')}
            </button>
          )}
          {commit && onOpen && (
            <button
              type="button"
              title={t('A desk with the files as they were here')}
              onClick={() => onOpen(moment.seq)}
              className="text-lamp underline-offset-4 hover:underline"
            >
              {t('Open here')}
            </button>
          )}
          {commit && onFork && (
            <button
              type="button"
              onClick={() => onFork(moment.seq)}
              className="inline-flex items-center gap-1 text-lamp underline-offset-4 hover:underline"
            >
              <GitFork aria-hidden className="size-3.5" /> {t('Fork from here')}
            </button>
          )}
        </div>
      )}
    </div>
  )
}
