import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { t } from '../words/words'
import { IconButton } from './Button'

interface DialogProps {
  isOpen: boolean
  onClose(): void
  title: string
  lead?: ReactNode
  children: ReactNode
  /** Return false to keep the dialog when someone clicks beside it. */
  canLeave?: boolean
}

/** A sheet of paper on the desk. On a phone it covers the desk. */
export function Dialog({ isOpen, onClose, title, lead, children, canLeave = true }: DialogProps) {
  return (
    <Radix.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-appear bg-[oklch(0.2_0.02_70/0.42)] backdrop-blur-[2px]" />
        <Radix.Content
          {...(lead ? {} : { 'aria-describedby': undefined })}
          onInteractOutside={(event) => !canLeave && event.preventDefault()}
          className="fixed inset-x-0 bottom-0 z-50 mx-auto flex max-h-[92dvh] w-full animate-rise flex-col overflow-hidden rounded-t-2xl border border-line bg-paper shadow-float outline-none sm:top-[10vh] sm:bottom-auto sm:max-h-[80vh] sm:max-w-xl sm:rounded-2xl"
        >
          <header className="flex items-start gap-4 px-6 pt-5 pb-3">
            <div className="min-w-0 flex-1">
              <Radix.Title className="font-serif text-title">{title}</Radix.Title>
              {lead && <Radix.Description className="mt-0.5 text-soft">{lead}</Radix.Description>}
            </div>
            <Radix.Close asChild>
              <IconButton label={t('Close')} className="-mr-2">
                <X />
              </IconButton>
            </Radix.Close>
          </header>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** The part of a dialog that scrolls. Where there is nothing in it to come to by keyboard, it is come to itself. */
export function DialogBody({ isOnlyRead, children }: { isOnlyRead?: boolean; children: ReactNode }) {
  return (
    <div tabIndex={isOnlyRead ? 0 : undefined} className="min-h-0 flex-1 overflow-y-auto px-6 pt-1 pb-5">
      {children}
    </div>
  )
}

export function DialogFoot({ children }: { children: ReactNode }) {
  return (
    <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line bg-desk px-6 py-3.5">
      {children}
    </footer>
  )
}
