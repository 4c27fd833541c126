import { Popover } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { t } from '../words/words'
import { Button } from './Button'

interface ConfirmProps {
  /** The button that asks. */
  children: ReactNode
  title: ReactNode
  detail: ReactNode
  act: string
  onConfirm(): void
}

/** Asks once, next to where the hand already is. The way out has the focus. */
export function Confirm({ children, title, detail, act, onConfirm }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger asChild>{children}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          collisionPadding={12}
          aria-label={act}
          className="z-50 w-76 max-w-[calc(100vw-1.5rem)] animate-rise rounded-xl border border-line bg-card p-4 shadow-float"
        >
          <p className="font-serif text-lead font-semibold wrap-anywhere">{title}</p>
          <p className="mt-1 text-small text-soft">{detail}</p>
          <div className="mt-4 flex justify-end gap-2">
            <Popover.Close asChild>
              <Button tone="quiet">{t('Keep')}</Button>
            </Popover.Close>
            <Button
              tone="danger"
              onClick={() => {
                setOpen(false)
                onConfirm()
              }}
            >
              {act}
            </Button>
          </div>
          <Popover.Arrow className="fill-card" />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}
