import { type ComponentProps, type ReactNode, useId } from 'react'
import { cx } from './cx'

export const inputLook =
  'h-9 w-full min-w-0 rounded-lg border border-line-strong/60 bg-card px-3 text-ink transition-colors hover:border-line-strong aria-invalid:border-oxblood'

interface FieldProps {
  label: string
  hint?: ReactNode | undefined
  error?: string | undefined
  className?: string
  children(wiring: { id: string; 'aria-invalid'?: true; 'aria-describedby'?: string }): ReactNode
}

/** A label, what it labels, and what is wrong with it, tied together for those who cannot see them side by side. */
export function Field({ label, hint, error, className, children }: FieldProps) {
  const id = useId()
  const below = error ?? hint
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block text-small font-medium text-soft">
        {label}
      </label>
      {children({
        id,
        ...(error ? { 'aria-invalid': true as const } : {}),
        ...(below ? { 'aria-describedby': `${id}-below` } : {}),
      })}
      {below && (
        <p
          id={`${id}-below`}
          role={error ? 'alert' : undefined}
          className={cx('mt-1 text-small', error ? 'text-oxblood' : 'text-faint')}
        >
          {below}
        </p>
      )}
    </div>
  )
}

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return <input autoComplete="off" spellCheck={false} {...rest} className={cx(inputLook, className)} />
}

export function Select({ className, ...rest }: ComponentProps<'select'>) {
  return <select {...rest} className={cx(inputLook, 'pr-2', className)} />
}
