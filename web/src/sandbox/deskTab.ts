/** The tabs of a sandbox's page, as its address names them. */
import { DESK_PARTS } from '../desk/parts'

export const DESK_TABS = ['overview', ...DESK_PARTS] as const

export type DeskTab = (typeof DESK_TABS)[number]
