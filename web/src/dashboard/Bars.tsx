/** A bar for each day. */
import { t } from '../words/words'

export function Bars({ days }: { days: readonly { day: string; merges: number }[] }) {
  const most = Math.max(1, ...days.map((it) => it.merges))
  return (
    <ol aria-label={t('Merges per day')} className="flex h-48 items-end gap-1.5">
      {days.map(({ day, merges }) => (
        <li
          key={day}
          className="flex h-full flex-1 flex-col justify-end gap-1 text-center"
          title={`${day}: ${merges}`}
        >
          <span className="text-tiny text-soft">{merges > 0 ? merges : ''}</span>
          <span
            aria-hidden
            className={merges > 0 ? 'rounded-t bg-lamp' : 'rounded-t bg-well'}
            style={{ height: `${Math.max(2, (merges / most) * 75)}%` }}
          />
          <span className="text-tiny text-faint">
            <span className="sr-only">{day}: </span>
            {day.slice(8)}
          </span>
        </li>
      ))}
    </ol>
  )
}
