/** The tabs of a session's page, in their order. A desk without a repository has no diff. */
import { DESK_PARTS, DESK_WORDS } from '../desk/parts'
import { t } from '../words/words'

export const SESSION_TABS = ['diff', ...DESK_PARTS] as const
export type SessionTab = (typeof SESSION_TABS)[number]

export const SESSION_WORDS: Record<SessionTab, string> = { diff: t('Diff'), ...DESK_WORDS }
