/** The tabs of a task's page, in their order. */
import { DESK_PARTS, DESK_WORDS } from '../desk/parts'
import { t } from '../words/words'

export const TABS = ['diff', ...DESK_PARTS, 'details'] as const
export type Tab = (typeof TABS)[number]

export const TAB_WORDS: Record<Tab, string> = { diff: t('Diff'), ...DESK_WORDS, details: t('Details') }
