/** What an entry of a sandbox's journal says, given the one before it. */
import type { SandboxView } from '../api/types'
import { duration } from '../ui/time'
import { worded } from '../words/enums'
import { t } from '../words/words'
import { LOOKS } from './phases'

export interface Told {
  /** What happened, in a few words. */
  what: string
  /** Why, when it was said. */
  why: string | undefined
}

export function tell(before: SandboxView | undefined, now: SandboxView): Told {
  const why = now.phase === 'gone' || now.phase === 'closing' ? (now.ended?.why ?? now.note) : now.note
  return { what: happened(before, now), why: why ?? undefined }
}

function happened(before: SandboxView | undefined, now: SandboxView): string {
  if (!before)
    return now.phase === 'requested' ? t('Asked for') : t('First seen {phase}', { phase: worded(now.phase) })
  if (before.phase !== now.phase) {
    if (before.phase === 'paused' && now.phase === 'ready') return t('Resumed')
    return LOOKS[now.phase].word
  }
  if (before.want !== now.want) return t('Wanted {want}', { want: worded(now.want) })
  if (now.attempts > before.attempts) return t('Attempt {attempts} failed', { attempts: now.attempts })
  if (now.timeout_s !== before.timeout_s || now.expires_at !== before.expires_at)
    return t('Lifetime set to {duration}', { duration: duration(now.timeout_s) })
  if (now.note !== before.note) return now.note ? t('Noted') : t('Cleared its note')
  return t('Changed')
}
