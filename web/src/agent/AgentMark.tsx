import { cx } from '../ui/cx'
import { t } from '../words/words'

const TONES = [
  'bg-lamp-wash text-lamp',
  'bg-slate-wash text-slate',
  'bg-clay-wash text-clay',
  'bg-brass-wash text-brass',
] as const

/** An agent as a small square with its first two letters. The same name always has the same colour. */
export function AgentMark({
  name,
  className,
  isLarge = false,
}: {
  name: string | null | undefined
  className?: string
  isLarge?: boolean
}) {
  const word = name ?? '?'
  const sum = [...word].reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0)
  return (
    <span
      role="img"
      aria-label={name ? t('Agent {name}', { name }) : t('No agent yet')}
      title={name ?? t('No agent yet')}
      className={cx(
        'inline-grid shrink-0 place-items-center font-semibold',
        isLarge ? 'size-9 rounded-lg text-base' : 'size-4.5 rounded-[5px] text-[0.625rem] tracking-tight',
        name ? TONES[sum % TONES.length] : 'bg-well text-faint',
        className,
      )}
    >
      <span aria-hidden>{word.charAt(0).toUpperCase() + word.charAt(1)}</span>
    </span>
  )
}
