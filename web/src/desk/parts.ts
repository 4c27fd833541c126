/** The parts of a desk, as addresses name them, in their order. */
import { t } from '../words/words'

export const DESK_PARTS = ['terminal', 'preview', 'files', 'network', 'logs'] as const

export type DeskPart = (typeof DESK_PARTS)[number]

export const DESK_WORDS: Record<DeskPart, string> = {
  terminal: t('Terminal'),
  preview: t('Preview'),
  files: t('Files'),
  network: t('Network'),
  logs: t('Logs'),
}

/** Where the checkout is inside. */
export const CHECKOUT = '/workspace'
