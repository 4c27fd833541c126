/** Every page, with what makes it interesting. */
import type { Visitor } from '../visitor'

export interface Shown {
  name: string
  path: string
  act?: (visitor: Visitor) => Promise<void>
  /** It measures while one looks: a picture waits until a line can be seen. */
  isMeasuring?: true
  /** It follows nothing. */
  isStill?: true
}

export const PAGES: readonly Shown[] = [
  { name: 'board', path: '/' },
  { name: 'task-talk', path: '/tasks/155', act: beside },
  { name: 'task-diff', path: '/tasks/155?tab=diff', act: lines },
  { name: 'task-review', path: '/tasks/149?tab=diff', act: said },
  { name: 'task-judge', path: '/tasks/149?tab=diff', act: judge },
  { name: 'task-question', path: '/tasks/152?tab=details' },
  { name: 'task-preview', path: '/tasks/155?tab=preview' },
  { name: 'task-files', path: '/tasks/155?tab=files' },
  { name: 'task-network', path: '/tasks/155?tab=network' },
  { name: 'task-logs', path: '/tasks/155?tab=logs' },
  { name: 'sessions', path: '/sessions' },
  { name: 'sessions-closed', path: '/sessions?closed=true' },
  { name: 'session', path: '/sessions/ses-1' },
  { name: 'session-diff', path: '/sessions/ses-1?tab=diff', act: lines },
  { name: 'repos', path: '/repos' },
  { name: 'repo', path: '/repos/api' },
  { name: 'agents', path: '/agents' },
  { name: 'templates', path: '/templates' },
  { name: 'sandboxes', path: '/sandboxes' },
  { name: 'sandbox', path: '/sandboxes/sbx-155', isMeasuring: true },
  { name: 'sandbox-files', path: '/sandboxes/sbx-155?tab=files' },
  { name: 'dashboard', path: '/dashboard', isMeasuring: true },
  { name: 'settings', path: '/settings' },
  { name: 'members', path: '/members' },
  { name: 'keys', path: '/keys' },
  { name: 'secrets', path: '/secrets' },
  { name: 'audit', path: '/audit' },
  { name: 'new-task', path: '/', act: (visitor) => press(visitor, 'n') },
  { name: 'new-key', path: '/keys', act: open },
  { name: 'add-repo', path: '/repos', act: open },
  { name: 'new-task-more', path: '/', act: more },
  { name: 'new-template', path: '/templates', act: open },
  { name: 'new-session', path: '/sessions', act: open },
  { name: 'new-sandbox', path: '/sandboxes', act: open },
  { name: 'add-agent', path: '/agents', act: open },
  { name: 'pull', path: '/pulls/api/90', act: said },
  { name: 'chosen', path: '/', act: choose },
  { name: 'nothing-here', path: '/nowhere', isStill: true },
  { name: 'palette', path: '/', act: (visitor) => press(visitor, 'Control+k') },
  { name: 'help', path: '/', act: (visitor) => press(visitor, '?') },
]

async function lines(visitor: Visitor): Promise<void> {
  await visitor.page.getByText('LIFETIME').first().waitFor({ state: 'attached' })
}

/** On a phone the lines are behind the other half, and not drawn until somebody goes there. */
async function beside(visitor: Visitor): Promise<void> {
  if ((visitor.page.viewportSize()?.width ?? 0) > 800) await lines(visitor)
}

async function said(visitor: Visitor): Promise<void> {
  await lines(visitor)
  await visitor.page.locator('[data-remark]').first().waitFor({ state: 'attached' })
}

async function judge(visitor: Visitor): Promise<void> {
  await said(visitor)
  await visitor.page.locator('[data-judge]').click()
  await visitor.page.getByRole('dialog').waitFor()
}

async function more(visitor: Visitor): Promise<void> {
  await press(visitor, 'n')
  await visitor.page.locator('[role="dialog"] button[aria-expanded]').click()
}

/** Some cards chosen, and what can be done with all of them. */
async function choose(visitor: Visitor): Promise<void> {
  for (const id of [158, 159, 161]) {
    await visitor.page.locator(`[data-task="${id}"] a`).focus()
    await visitor.page.keyboard.press('x')
  }
}

async function press(visitor: Visitor, key: string): Promise<void> {
  await visitor.page.keyboard.press(key)
  await visitor.page.getByRole('dialog').waitFor()
}

/** The one thing to do on a page of things: make another. */
async function open(visitor: Visitor): Promise<void> {
  await visitor.page.locator('main header button').filter({ visible: true }).first().click()
  await visitor.page.getByRole('dialog').waitFor()
}
