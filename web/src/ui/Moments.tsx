import { t } from '../words/words'
import { useReading } from './clock'
import { cx } from './cx'
import { age, countdown, exact, fractionLeft } from './time'

/** How long ago, kept true. */
export function Age({ at }: { at: string }) {
  const text = useReading((now) => age(at, now))
  return (
    <time dateTime={at} title={exact(at)}>
      {text}
    </time>
  )
}

/** How long ago, as the end of a sentence. */
export function Ago({ at }: { at: string }) {
  const text = useReading((now) => age(at, now))
  return (
    <time dateTime={at} title={exact(at)}>
      {text === 'now' ? t('just now') : t('{text} ago', { text })}
    </time>
  )
}

/** What is left until a moment. */
export function Until({ at }: { at: string }) {
  const text = useReading((now) => countdown(at, now))
  return (
    <time dateTime={at} title={exact(at)}>
      {text}
    </time>
  )
}

/** A lifetime running out: figures, and a line that grows shorter. Loud only near the end. */
export function Lifetime({ until, wholeSeconds }: { until: string; wholeSeconds: number }) {
  const text = useReading((now) => countdown(until, now))
  const percent = useReading((now) => Math.round(100 * fractionLeft(until, wholeSeconds, now)))
  const isShort = useReading((now) => Date.parse(until) - now < 60_000)
  return (
    <span className="inline-flex flex-col gap-1" title={t('Ends {exact}', { exact: exact(until) })}>
      <time dateTime={until} className={cx(isShort ? 'text-oxblood' : 'text-soft')}>
        {text}
      </time>
      <span aria-hidden className="h-0.5 w-14 overflow-hidden rounded-full bg-well">
        <span
          className={cx('block h-full rounded-full', isShort ? 'bg-oxblood' : 'bg-brass/70')}
          style={{ width: `${percent}%` }}
        />
      </span>
    </span>
  )
}
