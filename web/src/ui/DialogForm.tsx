/** A form in a dialog: what is asked, what went wrong, and the one thing to do, always in the same places. */
import { Dialog as Radix } from 'radix-ui'
import type { FormEvent, ReactNode } from 'react'
import { t } from '../words/words'
import { Button } from './Button'
import { DialogBody, DialogFoot } from './Dialog'
import { Trouble } from './Small'

interface DialogFormProps {
  children: ReactNode
  /** The word on the button. */
  act: string
  icon?: ReactNode
  isBusy?: boolean
  /** Whether enough was said. */
  canAct?: boolean
  onAct(): void
  /** What is said when it did not work, and why; what a field says itself is not said again. */
  failed: string
  why?: string | undefined
  /** Stands at the beginning of the foot. */
  aside?: ReactNode
}

export function DialogForm({
  children,
  act,
  icon,
  isBusy = false,
  canAct = true,
  onAct,
  failed,
  why,
  aside,
}: DialogFormProps) {
  const submit = (event: FormEvent | React.KeyboardEvent) => {
    event.preventDefault()
    if (canAct && !isBusy) onAct()
  }
  return (
    <form
      noValidate
      className="contents"
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
      }}
    >
      <DialogBody>
        {children}
        {why && (
          <div className="mt-4">
            <Trouble title={failed} detail={why} />
          </div>
        )}
      </DialogBody>
      <DialogFoot>
        {aside && <div className="mr-auto">{aside}</div>}
        <Radix.Close asChild>
          <Button tone="quiet">{t('Cancel')}</Button>
        </Radix.Close>
        <Button tone="primary" type="submit" icon={icon} isBusy={isBusy} disabled={!canAct}>
          {act}
        </Button>
      </DialogFoot>
    </form>
  )
}
