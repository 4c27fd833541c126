/** Short words at the edge of the page. Anything may call `toast`; one `Toaster` shows them. */
import { X } from 'lucide-react'
import { Toast as Radix } from 'radix-ui'
import { type ReactNode, useSyncExternalStore } from 'react'
import { t } from '../words/words'
import { IconButton } from './Button'
import { cx } from './cx'

interface Note {
  id: number
  title: ReactNode
  detail?: ReactNode
  tone: 'plain' | 'bad'
}

let notes: readonly Note[] = []
let last = 0
const watchers = new Set<() => void>()

function change(next: readonly Note[]): void {
  notes = next
  for (const watcher of watchers) watcher()
}

export function toast(title: ReactNode, detail?: ReactNode, tone: Note['tone'] = 'plain'): void {
  last += 1
  change([...notes.slice(-3), { id: last, title, detail, tone }])
}

export function Toaster() {
  const shown = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => notes,
  )
  return (
    <Radix.Provider duration={6000}>
      {shown.map((note) => (
        <Radix.Root
          key={note.id}
          type={note.tone === 'bad' ? 'foreground' : 'background'}
          onOpenChange={(open) => !open && change(notes.filter((it) => it.id !== note.id))}
          className={cx(
            'flex animate-slide items-start gap-3 rounded-xl border bg-card p-3.5 pr-2 shadow-float',
            note.tone === 'bad' ? 'border-oxblood/50' : 'border-line',
          )}
        >
          <div className="min-w-0 flex-1 wrap-anywhere">
            <Radix.Title className={cx('font-medium', note.tone === 'bad' && 'text-oxblood')}>
              {note.title}
            </Radix.Title>
            {note.detail && (
              <Radix.Description className="text-small text-soft">{note.detail}</Radix.Description>
            )}
          </div>
          <Radix.Close asChild>
            <IconButton label={t('Dismiss')} className="-my-1">
              <X />
            </IconButton>
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport
        label={t('Notices ({hotkey})')}
        className="fixed right-4 bottom-4 z-60 flex w-90 max-w-[calc(100vw-2rem)] flex-col gap-2 outline-none"
      />
    </Radix.Provider>
  )
}
