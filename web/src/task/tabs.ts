/** The tabs of a task's page, in their order. */
import { DESK_PARTS, DESK_WORDS } from '../desk/parts'

export const TABS = ['diff', ...DESK_PARTS, 'details'] as const
export type Tab = (typeof TABS)[number]

export const TAB_WORDS: Record<Tab, string> = { diff: 'Diff', ...DESK_WORDS, details: 'Details' }
