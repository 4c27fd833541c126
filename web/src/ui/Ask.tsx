/** A question in the middle of the page, for what cannot be taken back or costs something. Anything may `askFirst`; one `Asker` shows it. */
import { AlertDialog } from 'radix-ui'
import { type ReactNode, useSyncExternalStore } from 'react'
import { t } from '../words/words'
import { Button } from './Button'

interface Asked {
  title: ReactNode
  detail: ReactNode
  act: string
  isGrave?: boolean
  answer(yes: boolean): void
}

let open: Asked | undefined
const watchers = new Set<() => void>()

function change(next: Asked | undefined): void {
  open = next
  for (const watcher of watchers) watcher()
}

/** Resolves to whether the person agreed. */
export function askFirst(question: Omit<Asked, 'answer'>): Promise<boolean> {
  open?.answer(false)
  return new Promise((resolve) => {
    change({
      ...question,
      answer: (yes) => {
        change(undefined)
        resolve(yes)
      },
    })
  })
}

export function Asker() {
  const asked = useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    () => open,
  )
  return (
    <AlertDialog.Root open={asked !== undefined} onOpenChange={(isOpen) => !isOpen && asked?.answer(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-60 animate-appear bg-[oklch(0.2_0.02_70/0.42)] backdrop-blur-[2px]" />
        <AlertDialog.Content className="fixed inset-x-4 top-[22vh] z-60 mx-auto max-w-md animate-rise rounded-2xl border border-line bg-paper p-6 shadow-float outline-none">
          <AlertDialog.Title className="font-serif text-title wrap-anywhere">
            {asked?.title}
          </AlertDialog.Title>
          <AlertDialog.Description className="mt-1.5 text-soft">{asked?.detail}</AlertDialog.Description>
          <div className="mt-6 flex justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button tone="quiet">{t('Keep as it is')}</Button>
            </AlertDialog.Cancel>
            <Button
              autoFocus={!asked?.isGrave}
              tone={asked?.isGrave ? 'danger' : 'primary'}
              onClick={() => asked?.answer(true)}
            >
              {asked?.act}
            </Button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}
