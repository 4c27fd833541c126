import type { Check } from '../task/types'

/** The checks of a pull as a ring: green for the part that passed, red when one failed, moving while any runs. */
export function ChecksRing({ checks, phase }: { checks: readonly Check[] | undefined; phase: string }) {
  const all = checks ?? []
  const failed = all.filter((check) => check.state === 'failed').length
  const passed = all.filter((check) => check.state === 'passed').length
  const isChecking = phase === 'checking' || all.some((check) => check.state === 'running')
  if (all.length === 0 && !isChecking && phase !== 'conflicted' && phase !== 'mergeable') return null
  const part = all.length === 0 ? (phase === 'mergeable' ? 1 : 0.25) : (passed + failed) / all.length
  const isBad = failed > 0 || phase === 'conflicted'
  const words =
    all.length > 0
      ? `${passed} of ${all.length} checks passed${failed > 0 ? `, ${failed} failed` : ''}`
      : phase === 'conflicted'
        ? 'Conflicted'
        : isChecking
          ? 'Being checked'
          : 'Ready to merge'
  return (
    <svg
      role="img"
      aria-label={words}
      viewBox="0 0 16 16"
      className={`size-3.5 -rotate-90 ${isChecking && !isBad ? 'animate-breathe' : ''}`}
    >
      <title>{words}</title>
      <circle cx="8" cy="8" r="6" fill="none" strokeWidth="2.6" className="stroke-line" />
      <circle
        cx="8"
        cy="8"
        r="6"
        fill="none"
        strokeWidth="2.6"
        pathLength="1"
        strokeDasharray={`${isBad ? 1 : part} 1`}
        className={isBad ? 'stroke-oxblood' : isChecking ? 'stroke-brass' : 'stroke-lamp'}
      />
    </svg>
  )
}
