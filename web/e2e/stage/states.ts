/** The days that are not ordinary: nothing yet, too much, an answer that is late or bad, a server that is gone, a hand on a card. */
import { aTask } from '../../src/task/sample'
import type { TaskPhase } from '../../src/task/types'
import type { Visitor } from '../visitor'
import { type Scene, scene } from './scene'
import type { Stage } from './stage'

export interface State {
  name: string
  path: string
  /** What the house holds; an ordinary morning unless said. */
  holds?: () => Scene
  mood?: Stage['mood']
  act?: (visitor: Visitor, stage: Stage) => Promise<void>
  /** It follows nothing, or nothing any more. */
  isStill?: true
}

export const STATES: readonly State[] = [
  { name: 'state-sign-in', path: '/sign-in', isStill: true },
  { name: 'state-welcome', path: '/', holds: empty },
  { name: 'state-welcome-go', path: '/', holds: empty, act: go },
  { name: 'state-no-sessions', path: '/sessions', holds: empty },
  { name: 'state-no-repos', path: '/repos', holds: empty },
  { name: 'state-no-sandboxes', path: '/sandboxes', holds: empty },
  { name: 'state-no-secrets', path: '/secrets', holds: empty },
  { name: 'state-no-numbers', path: '/dashboard', holds: empty },
  { name: 'state-crowd', path: '/', holds: crowd },
  { name: 'state-filtered', path: '/?text=unheard-of' },
  { name: 'state-waiting', path: '/', mood: 'silent', isStill: true },
  { name: 'state-waiting-task', path: '/tasks/155', mood: 'silent', isStill: true },
  { name: 'state-failing', path: '/', mood: 'failing', isStill: true, act: failed },
  { name: 'state-failing-task', path: '/tasks/155', mood: 'failing', isStill: true, act: failed },
  { name: 'state-no-task', path: '/tasks/9999', isStill: true },
  { name: 'state-question', path: '/', act: dropped },
  { name: 'state-refused', path: '/', act: refused },
  { name: 'state-menu', path: '/', act: menu },
  { name: 'state-held', path: '/', act: held },
  { name: 'state-offline', path: '/', isStill: true, act: offline },
  { name: 'state-offline-task', path: '/tasks/155', isStill: true, act: offline },
]

function empty(): Scene {
  const shown = scene()
  return {
    ...shown,
    tasks: [],
    sandboxes: [],
    repos: [],
    sessions: [],
    secrets: [],
    agents: [],
    nodes: [],
    audit: [],
    metrics: '',
  }
}

const PHASES: TaskPhase[] = ['backlog', 'queued', 'working', 'needs_you', 'in_review', 'merged']
const LONG =
  'Make the importer of invoices with very_long_identifiers_that_nobody_can_break understand every encoding that customers ever sent, and say which line was wrong'

function crowd(): Scene {
  const shown = scene()
  shown.tasks = Array.from({ length: 300 }, (_, at) =>
    aTask({
      id: 10_000 + at,
      title: at % 3 === 0 ? LONG : `Card ${at} of three hundred`,
      phase: PHASES[at % PHASES.length] ?? 'backlog',
      repo: at % 4 === 0 ? 'a-repository-with-a-rather-long-name-of-its-own' : 'api',
      agent: at % 2 ? 'claude' : 'an-agent-with-a-long-name',
      labels: at % 5 === 0 ? ['a-label-that-goes-on-and-on', 'bug', 'feature'] : [],
      doing: 'cargo nextest run --workspace --all-features --no-fail-fast login::flaky',
      started_at: new Date(Date.now() - at * 600_000).toISOString(),
      cost_usd: at * 7.13,
      ahead: at % 40,
      behind: at % 37,
      ...(PHASES[at % PHASES.length] === 'needs_you'
        ? { needs: { reason: 'question' as const, detail: `${LONG}? Or should I stop here?` } }
        : {}),
      conflicts:
        at % 7 === 0
          ? [
              {
                task_id: 10_000 + ((at + 1) % 300),
                paths: [`src/${'deep/'.repeat(8)}file_with_a_long_name.rs`],
              },
            ]
          : [],
    }),
  )
  return shown
}

async function go(visitor: Visitor): Promise<void> {
  await visitor.page.getByRole('button', { name: /A sample/ }).click()
  await visitor.page.getByRole('button', { name: /The demo/ }).click()
  await visitor.page.getByLabel('What should be done?').waitFor()
}

async function failed(visitor: Visitor): Promise<void> {
  await visitor.page.getByRole('alert').first().waitFor({ timeout: 30_000 })
}

async function pick(visitor: Visitor, id: number, to: string, isDropped: boolean): Promise<void> {
  const { page } = visitor
  const from = await page.locator(`[data-task="${id}"]`).boundingBox()
  const target = await page.locator(`[data-column="${to}"]`).boundingBox()
  // On a phone columns are reached by the menu; there is nothing to be held there.
  if (!from || !target || (page.viewportSize()?.width ?? 0) < 800) return
  await page.mouse.move(from.x + from.width / 2, from.y + 12)
  await page.mouse.down()
  await page.mouse.move(from.x + 40, from.y + 30, { steps: 4 })
  await page.mouse.move(target.x + target.width / 2, target.y + 160, { steps: 10 })
  await page.locator(`[data-column="${to}"][data-over]`).waitFor()
  if (isDropped) await page.mouse.up()
}

async function held(visitor: Visitor): Promise<void> {
  await pick(visitor, 161, 'queued', false)
}

async function dropped(visitor: Visitor): Promise<void> {
  await visitor.page.mouse.up()
  await pick(visitor, 149, 'done', true)
}

async function refused(visitor: Visitor): Promise<void> {
  await pick(visitor, 155, 'needs_you', true)
}

async function menu(visitor: Visitor): Promise<void> {
  await visitor.page.locator('[data-task="155"] a').focus()
  await visitor.page.keyboard.press('.')
  await visitor.page.getByRole('menu').waitFor()
}

async function offline(visitor: Visitor, stage: Stage): Promise<void> {
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
  await visitor.page.locator('[data-task], [role="log"] li').first().waitFor({ state: 'attached' })
  await visitor.settle()
  await stage.close()
  await visitor.page.locator('[data-silent]').waitFor({ timeout: 30_000 })
}
