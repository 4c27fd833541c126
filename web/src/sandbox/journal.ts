/** A sandbox's journal, followed from its first entry. */
import { useEffect, useState } from 'react'
import { Stream } from '../api/stream'
import type { Entry, SandboxView } from '../api/types'
import { type Told, tell } from './tell'

export interface Line extends Told {
  cursor: string
  at: string
  sandbox: SandboxView
}

export interface Journal {
  /** Oldest first. */
  lines: readonly Line[]
  /** The beginning is too old to be told. */
  isCut: boolean
}

const BLANK: Journal = { lines: [], isCut: false }

export function useJournal(id: string): Journal {
  const [journal, setJournal] = useState(BLANK)
  useEffect(() => {
    setJournal(BLANK)
    let stream: Stream
    const follow = (after: string) => {
      stream = new Stream({
        address: `/api/v1/events?kind=sandbox&sandbox_id=${encodeURIComponent(id)}`,
        after,
        kinds: ['sandbox'],
        onEntry: (data) => setJournal((now) => write(now, JSON.parse(data) as Entry)),
        onReset: (data) => {
          setJournal({ lines: [], isCut: true })
          follow(String(Math.max(0, (JSON.parse(data) as { oldest: number }).oldest - 1)))
        },
      })
    }
    follow('0')
    const look = () => (document.hidden ? stream.rest() : stream.wake())
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      stream.close()
    }
  }, [id])
  return journal
}

function write(journal: Journal, entry: Entry): Journal {
  if (entry.kind !== 'sandbox') return journal
  const before = journal.lines.at(-1)?.sandbox
  if (before && before.revision >= entry.sandbox.revision) return journal
  const line: Line = {
    ...tell(before, entry.sandbox),
    cursor: String(entry.cursor),
    at: entry.at,
    sandbox: entry.sandbox,
  }
  return { ...journal, lines: [...journal.lines, line] }
}
