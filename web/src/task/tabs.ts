/** The tabs of a task's page, in their order. */
export const TABS = ['diff', 'terminal', 'files', 'preview', 'network', 'logs', 'details'] as const
export type Tab = (typeof TABS)[number]

export const TAB_WORDS: Record<Tab, string> = {
  diff: 'Diff',
  terminal: 'Terminal',
  files: 'Files',
  preview: 'Preview',
  network: 'Network',
  logs: 'Logs',
  details: 'Details',
}
