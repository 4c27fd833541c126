import { useLive } from '../api/live'
import { cx } from '../ui/cx'
import { t } from '../words/words'

const WORDS = {
  connecting: t('Connecting'),
  live: t('Live'),
  reconnecting: t('Reconnecting'),
  resting: t('Resting'),
} as const

/** Whether what is on the page is what is true. */
export function Connection() {
  const { state } = useLive()
  const isLive = state === 'live'
  return (
    <span
      role="status"
      data-stream={state}
      title={isLive ? t('Changes appear as they happen') : t('What you see may be a moment old')}
      className="inline-flex items-center gap-2 text-small text-soft"
    >
      <span
        aria-hidden
        className={cx('size-1.5 rounded-full', isLive ? 'bg-lamp' : 'animate-breathe bg-brass')}
      />
      <span className={cx(isLive ? 'max-2xl:sr-only' : 'max-2xl:md:sr-only')}>{WORDS[state]}</span>
    </span>
  )
}
