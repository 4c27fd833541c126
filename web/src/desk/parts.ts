/** The parts of a desk, as addresses name them, in their order. */
export const DESK_PARTS = ['terminal', 'preview', 'files', 'network', 'logs'] as const

export type DeskPart = (typeof DESK_PARTS)[number]

export const DESK_WORDS: Record<DeskPart, string> = {
  terminal: 'Terminal',
  preview: 'Preview',
  files: 'Files',
  network: 'Network',
  logs: 'Logs',
}

/** Where the checkout is inside. */
export const CHECKOUT = '/workspace'
