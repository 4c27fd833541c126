/** What happened at the desk, as it happens; and what each command prints while it prints it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ArrowDown, ChevronRight } from 'lucide-react'
import { memo, type ReactNode, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { callList } from '../api/call'
import { Stream, type StreamState, whileSeen } from '../api/stream'
import type { ExecView } from '../api/types'
import { Button } from '../ui/Button'
import { cx } from '../ui/cx'
import { Chip, Empty, Skeleton, Trouble } from '../ui/Small'
import { exact, second } from '../ui/time'
import { t } from '../words/words'
import { useOutput } from './output'

interface LogLine {
  at: string
  text: string
  exec_id?: string | null
}

/** As many lines as are drawn at first; more when asked for. */
const SHOWN = 400

/** Follows the log. The server tells it from its beginning each time, so a line that broke begins with a clean page. */
function useLog(sandboxId: string): { lines: readonly LogLine[]; state: StreamState } {
  const cache = useQueryClient()
  const [lines, setLines] = useState<readonly LogLine[]>([])
  const [state, setState] = useState<StreamState>('connecting')
  useEffect(() => {
    let told: LogLine[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const draw = () => {
      timer = undefined
      setLines(told.slice())
      void cache.invalidateQueries({ queryKey: ['execs', sandboxId] })
    }
    const stop = whileSeen(
      new Stream({
        address: `/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/logs?follow=true`,
        place: null,
        after: '',
        kinds: ['line'],
        onState: (next) => {
          if (next === 'live') told = []
          setState(next)
        },
        onEntry: (data) => {
          told.push(JSON.parse(data) as LogLine)
          timer ??= setTimeout(draw, 30)
        },
        onReset: () => {},
      }),
    )
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [cache, sandboxId])
  return { lines, state }
}

export function Logs({ sandboxId }: { sandboxId: string }) {
  const { lines, state } = useLog(sandboxId)
  const [most, setMost] = useState(SHOWN)
  const execs = useQuery({
    queryKey: ['execs', sandboxId],
    queryFn: () => callList<ExecView>(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/execs`, 300),
  })
  // One at a time: a browser has six lines to a server, and eyes for one.
  const [chosen, setChosen] = useState<string | null>()
  const running = execs.data?.find((it) => it.status === 'running' && !it.terminal)
  const open = chosen === undefined ? running?.exec_id : chosen
  // What was followed to its end stays open to be read.
  useEffect(() => {
    if (chosen === undefined && running) setChosen(running.exec_id)
  }, [chosen, running])
  const toggle = useCallback((id: string) => setChosen((now) => (now === id ? null : id)), [])
  if (lines.length === 0 && state === 'reconnecting')
    return (
      <div className="p-4">
        <Trouble
          title={t('The log could not be read')}
          detail={t('It is asked for again until the server answers.')}
        />
      </div>
    )
  if (lines.length === 0 && state !== 'live')
    return (
      <div role="status" aria-label={t('Loading')} className="space-y-2 p-4">
        <Skeleton className="h-5 w-2/3" />
        <Skeleton className="h-5 w-1/2" />
        <Skeleton className="h-5 w-3/5" />
      </div>
    )
  if (lines.length === 0)
    return (
      <Empty title={t('Nothing yet')}>
        <p>{t('What happens to this sandbox, and what runs in it, is told here.')}</p>
      </Empty>
    )
  const known = new Map(execs.data?.map((exec) => [exec.exec_id, exec]))
  const told = new Set<string>()
  const rows = lines.map((line, at) => {
    const exec = line.exec_id && !told.has(line.exec_id) ? known.get(line.exec_id) : undefined
    if (line.exec_id) told.add(line.exec_id)
    return { line, at, exec }
  })
  return (
    <AtTheEnd label={t('Log')} mark={lines.length}>
      {rows.length > most && (
        <p className="py-2 text-center">
          <Button onClick={() => setMost(most + SHOWN * 3)}>{t('Earlier')}</Button>
        </p>
      )}
      <ol>
        {rows.slice(-most).map(({ line, at, exec }) => (
          <Row
            key={at}
            line={line}
            exec={exec}
            isOpen={exec !== undefined && exec.exec_id === open}
            onToggle={toggle}
          />
        ))}
      </ol>
    </AtTheEnd>
  )
}

const Row = memo(function Row({
  line,
  exec,
  isOpen,
  onToggle,
}: {
  line: LogLine
  exec: ExecView | undefined
  isOpen: boolean
  onToggle(id: string): void
}) {
  return (
    <li className="px-4 py-1">
      <p className="flex gap-3 text-small">
        <time dateTime={line.at} title={exact(line.at)} className="shrink-0 font-mono text-faint">
          {second(line.at)}
        </time>
        <span className="min-w-0 wrap-anywhere">{line.text}</span>
      </p>
      {exec && <Output exec={exec} isOpen={isOpen} onToggle={() => onToggle(exec.exec_id)} />}
    </li>
  )
})

function Output({ exec, isOpen, onToggle }: { exec: ExecView; isOpen: boolean; onToggle(): void }) {
  const printed = useOutput(exec.sandbox_id, exec.exec_id, isOpen)
  return (
    <div className="mt-0.5 ml-20 max-sm:ml-4">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex max-w-full items-center gap-1.5 rounded-md text-small text-soft hover:text-ink"
      >
        <ChevronRight
          aria-hidden
          className={cx('size-3.5 shrink-0 transition-transform', isOpen && 'rotate-90')}
        />
        <span className="truncate font-mono">{exec.command}</span>
        {exec.status === 'running' && (
          <span
            role="img"
            aria-label={t('It runs')}
            className="size-1.5 shrink-0 animate-breathe rounded-full bg-lamp"
          />
        )}
        {exec.exit_code != null && (
          <Chip tone={exec.exit_code === 0 ? 'plain' : 'bad'}>{exec.exit_code}</Chip>
        )}
      </button>
      {isOpen && (
        <div
          className="mt-1 flex max-h-96 flex-col overflow-hidden rounded-lg bg-well"
          data-output={exec.exec_id}
        >
          <AtTheEnd label={t('What it prints')} mark={printed?.text.length ?? 0}>
            <pre className="p-3 font-mono text-small whitespace-pre-wrap wrap-anywhere">
              {printed?.isCut && (
                <span className="text-faint">
                  {t('… what came before is left out')}
                  {'\n'}
                </span>
              )}
              {printed?.text || (printed?.isOver ? t('It printed nothing.') : '…')}
            </pre>
          </AtTheEnd>
        </div>
      )}
    </div>
  )
}

/** A box that grows: whoever reads its end keeps reading the end, whoever scrolled up is left in peace. */
function AtTheEnd({ label, mark, children }: { label: string; mark: number; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the mark is what makes it longer
  useLayoutEffect(() => {
    if (isAtEnd && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [mark, isAtEnd])
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={box}
        role="log"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: it }) => setAtEnd(it.scrollHeight - it.scrollTop - it.clientHeight < 40)}
        className="min-h-0 flex-1 overflow-y-auto py-1 -outline-offset-2 [scrollbar-width:thin]"
      >
        {children}
      </div>
      {!isAtEnd && (
        <Button
          className="absolute right-3 bottom-3 h-8 shadow-float"
          icon={<ArrowDown />}
          onClick={() => setAtEnd(true)}
        >
          {t('To the end')}
        </Button>
      )}
    </div>
  )
}
