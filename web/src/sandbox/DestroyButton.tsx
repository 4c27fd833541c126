import type { ReactNode } from 'react'
import type { SandboxView } from '../api/types'
import { Confirm } from '../ui/Confirm'
import { rich, t } from '../words/words'

interface DestroyButtonProps {
  sandbox: SandboxView
  onConfirm(): void
  children: ReactNode
}

/** Asks once before a sandbox is destroyed, naming it. */
export function DestroyButton({ sandbox, onConfirm, children }: DestroyButtonProps) {
  return (
    <Confirm
      title={
        <>{rich('Destroy {id}', { id: <span className="font-mono font-medium">{sandbox.id}</span> })}?</>
      }
      detail={t('Its processes end and its files are removed. Work that was not pushed is lost.')}
      act={t('Destroy')}
      onConfirm={onConfirm}
    >
      {children}
    </Confirm>
  )
}
