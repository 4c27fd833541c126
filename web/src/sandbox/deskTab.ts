/** The tabs of a sandbox's page, as its address names them. */
export const DESK_TABS = ['overview', 'terminal', 'files', 'preview', 'network', 'logs'] as const

export type DeskTab = (typeof DESK_TABS)[number]
