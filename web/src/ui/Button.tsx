import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { cx } from './cx'

type Tone = 'primary' | 'plain' | 'quiet' | 'danger'

const TONES: Record<Tone, string> = {
  primary: 'bg-lamp text-on-lamp hover:bg-lamp-hover shadow-card',
  plain: 'border border-line bg-card text-ink shadow-card hover:border-line-strong',
  quiet: 'text-soft hover:bg-well hover:text-ink',
  danger: 'bg-oxblood text-paper hover:opacity-90 shadow-card',
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  tone?: Tone
  icon?: ReactNode
  isBusy?: boolean
  /** For rows of other things. */
  isSmall?: boolean
}

export function Button({
  tone = 'plain',
  icon,
  isBusy,
  isSmall = false,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={cx(
        'inline-flex items-center justify-center gap-2 rounded-lg font-medium whitespace-nowrap transition-colors duration-150 disabled:opacity-55',
        isSmall ? 'h-8 px-3 text-small' : 'h-9 px-3.5',
        TONES[tone],
        className,
      )}
    >
      {icon && <span className="-ml-0.5 grid size-4 place-items-center *:size-4">{icon}</span>}
      {children}
    </button>
  )
}

interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  label: string
  children: ReactNode
}

/** A button that is only a picture. Its label is read aloud and shown on hover. */
export function IconButton({ label, children, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={cx(
        'inline-grid size-8 shrink-0 place-items-center rounded-lg text-faint transition-colors duration-150 *:size-4 hover:bg-well hover:text-ink disabled:opacity-40',
        className,
      )}
    >
      {children}
    </button>
  )
}
