/** What happened at the desk, as it happens; and what each command printed. */
import { useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { useEffect, useState } from 'react'
import { call, callList } from '../api/call'
import type { ExecView } from '../api/types'
import { cx } from '../ui/cx'
import { Chip, Empty } from '../ui/Small'
import { exact } from '../ui/time'
import { t } from '../words/words'

interface LogLine {
  at: string
  text: string
  exec_id?: string | null
}

/** Follows the log. The server tells it from its beginning each time, so a line that broke begins with a clean page. */
function useLog(sandboxId: string): readonly LogLine[] {
  const [lines, setLines] = useState<readonly LogLine[]>([])
  useEffect(() => {
    const source = new EventSource(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/logs?follow=true`)
    source.addEventListener('open', () => setLines([]))
    source.addEventListener('line', (event) => {
      const line = JSON.parse((event as MessageEvent<string>).data) as LogLine
      setLines((now) => [...now, line])
    })
    return () => source.close()
  }, [sandboxId])
  return lines
}

export function Logs({ sandboxId }: { sandboxId: string }) {
  const lines = useLog(sandboxId)
  const execs = useQuery({
    queryKey: ['execs', sandboxId, lines.length],
    queryFn: () => callList<ExecView>(`/api/v1/sandboxes/${encodeURIComponent(sandboxId)}/execs`, 300),
    placeholderData: (before) => before,
  })
  const known = new Map(execs.data?.map((exec) => [exec.exec_id, exec]))
  if (lines.length === 0)
    return (
      <Empty title={t('Nothing yet')}>
        <p>{t('What happens to this sandbox, and what runs in it, is told here.')}</p>
      </Empty>
    )
  const told = new Set<string>()
  return (
    <ol aria-label={t('Log')} className="min-h-0 flex-1 overflow-y-auto py-2">
      {lines.map((line, at) => {
        const exec = line.exec_id && !told.has(line.exec_id) ? known.get(line.exec_id) : undefined
        if (line.exec_id) told.add(line.exec_id)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are only ever added at the end
          <li key={at} className="px-4 py-1">
            <p className="flex gap-3 text-small">
              <time dateTime={line.at} title={exact(line.at)} className="shrink-0 font-mono text-faint">
                {clock(line.at)}
              </time>
              <span className="min-w-0 wrap-anywhere">{line.text}</span>
            </p>
            {exec && <ExecOutput exec={exec} />}
          </li>
        )
      })}
    </ol>
  )
}

function ExecOutput({ exec }: { exec: ExecView }) {
  const [isOpen, setOpen] = useState(false)
  const output = useQuery({
    queryKey: ['exec-output', exec.exec_id, exec.status],
    queryFn: async () =>
      (
        await call(
          `/api/v1/sandboxes/${encodeURIComponent(exec.sandbox_id)}/execs/${encodeURIComponent(exec.exec_id)}/output`,
        )
      ).text(),
    enabled: isOpen,
  })
  return (
    <div className="mt-0.5 ml-20 max-sm:ml-4">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex max-w-full items-center gap-1.5 rounded-md text-small text-soft hover:text-ink"
      >
        <ChevronRight
          aria-hidden
          className={cx('size-3.5 shrink-0 transition-transform', isOpen && 'rotate-90')}
        />
        <span className="truncate font-mono">{exec.command}</span>
        {exec.exit_code != null && (
          <Chip tone={exec.exit_code === 0 ? 'plain' : 'bad'}>{exec.exit_code}</Chip>
        )}
      </button>
      {isOpen && (
        <pre className="mt-1 max-h-96 overflow-auto rounded-lg bg-well p-3 font-mono text-small whitespace-pre-wrap wrap-anywhere">
          {output.data === '' ? t('It printed nothing.') : (output.data?.slice(-200_000) ?? '…')}
        </pre>
      )}
    </div>
  )
}

function clock(at: string): string {
  return new Date(at).toLocaleTimeString(undefined, { hour12: false })
}
