/** Every page and every state of the stage: whether everyone can use it, in light and in dark; and what a card shows of all it can show. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { PAGES } from './stage/pages'
import { scene } from './stage/scene'
import { Stage } from './stage/stage'
import { STATES } from './stage/states'
import { Visitor } from './visitor'

const THEMES = ['light', 'dark'] as const

let stage: Stage
let visitor: Visitor

beforeAll(async () => {
  stage = await Stage.open()
  visitor = await Visitor.arrive()
})

afterAll(async () => {
  await visitor?.leave()
  await stage?.close()
})

// A house that fails or is gone makes the browser complain; this file is about what is drawn then.
afterEach(() => void visitor.complaints())

const live = () => visitor.page.locator('[data-stream="live"]').first().waitFor()
/** The theme is chosen before the page is: what is drawn first has it already. */
const dress = (theme: string, origin: string) =>
  visitor.page
    .goto(`${origin}/app/mark.svg`)
    .then(() => visitor.page.evaluate((it) => localStorage.setItem('carrel.theme', it), theme))

describe('a page can be used by everyone', () => {
  it.each(PAGES.map((it) => [it.name, it] as const))('%s', async (_, { path, act, isStill }) => {
    for (const theme of THEMES) {
      await dress(theme, stage.origin)
      await visitor.page.goto(`${stage.origin}/app${path}`)
      if (!isStill) await live()
      if (act) await act(visitor)
      await visitor.settle()
      expect(await visitor.barriers(), theme).toEqual([])
    }
  })
})

describe('a day that is not ordinary can be used by everyone', () => {
  it.each(STATES.map((it) => [it.name, it] as const))(
    '%s',
    async (_, { path, holds, mood, act, isStill }) => {
      for (const theme of THEMES) {
        const other = await Stage.open(holds?.())
        try {
          await dress(theme, other.origin)
          if (mood) other.mood = mood
          await visitor.page.goto(`${other.origin}/app${path}`)
          if (!isStill) await live()
          if (act) await act(visitor, other)
          if (mood === 'silent') await visitor.page.getByRole('status', { name: 'Loading' }).first().waitFor()
          else await visitor.settle()
          expect(await visitor.barriers(), theme).toEqual([])
        } finally {
          await visitor.page.mouse.up()
          await other.close()
        }
      }
    },
  )
})

describe('a card', () => {
  const shows = async (id: number) => {
    await visitor.page.goto(`${stage.origin}/app/`)
    await live()
    return visitor.page.locator(`[data-task="${id}"]`)
  }

  it('shows what it cost, how far it is behind, and that a check failed', async () => {
    const shown = scene().tasks.find((it) => it.id === 149)
    if (!shown?.pull) throw new Error('task-149 has a pull on this stage')
    const card = await shows(149)
    await card.locator('[data-ring]').waitFor()
    stage.change(149, {
      cost_usd: 12.5,
      ahead: 3,
      behind: 21,
      pull: { ...shown.pull, phase: 'open', checks: 'failed' },
    })
    await card.getByText('$12.50').waitFor()
    await card.getByText('↑3').waitFor()
    await card.getByText('↓21').waitFor()
    await card.getByRole('img', { name: 'A check failed' }).waitFor()
    expect(await card.locator('[data-ring="failed"] circle').last().getAttribute('class')).toContain(
      'oxblood',
    )
    stage.change(149, { pull: { ...shown.pull, phase: 'mergeable', checks: 'passed' } })
    await card.getByRole('img', { name: 'Ready to merge' }).waitFor()
  })

  it('shows its desk as it is: at work, paused, gone', async () => {
    const card = await shows(155)
    await card.getByRole('img', { name: 'Sandbox running' }).waitFor()
    const desk = stage.scene.sandboxes.find((it) => it.id === 'sbx-155')
    if (!desk) throw new Error('task-155 has a desk on this stage')
    const tell = (change: object) => stage.tell('sandbox', { sandbox: { ...desk, ...change } })
    tell({ phase: 'paused', status: 'paused', revision: (desk.revision ?? 0) + 1 })
    await card.getByRole('img', { name: 'Sandbox paused' }).waitFor()
    tell({ phase: 'gone', status: 'gone', revision: (desk.revision ?? 0) + 2 })
    await card.getByRole('img', { name: 'Sandbox gone' }).waitFor()
  })
})

describe('the page of a task', () => {
  const opens = async (path: string) => {
    await visitor.page.goto(`${stage.origin}/app${path}`)
    await live()
  }

  it('says where it is, how it is kept apart, what it may reach and what it cost; one button follows its state', async () => {
    await opens('/tasks/155')
    const bar = visitor.page.locator('main header').first()
    for (const fact of ['task-155', 'main', 'namespace', 'some hosts', '$0.42'])
      await bar
        .getByText(fact, { exact: fact !== '$0.42' })
        .first()
        .waitFor()
    await bar.getByRole('link', { name: 'api' }).waitFor()
    for (const [change, word] of [
      [{ phase: 'backlog' }, 'Start'],
      [{ phase: 'working' }, 'Stop'],
      [{ phase: 'needs_you', needs: { reason: 'question', detail: 'Which colour?' } }, 'Answer'],
      [{ phase: 'needs_you', needs: { reason: 'conflict', detail: 'In login.rs.' } }, 'Rebase again'],
      [{ phase: 'failed', needs: null }, 'Try again'],
      [{ phase: 'in_review', needs: null }, 'Merge'],
      [{ phase: 'merged' }, 'Fork'],
      [{ phase: 'working' }, 'Stop'],
    ] as const) {
      stage.change(155, change)
      await bar.getByRole('button', { name: word, exact: true }).waitFor()
    }
  })

  it('folds what the agent did, and shows what came out when somebody wants it', async () => {
    await opens('/tasks/155')
    const log = visitor.page.getByRole('log')
    const steps = log.getByRole('button', { name: /3 steps/ })
    await steps.waitFor()
    expect(await steps.getAttribute('aria-expanded')).toBe('false')
    expect(await log.getByText('pub struct Session').count()).toBe(0)
    await steps.click()
    await log.getByRole('button', { name: 'Read src/session.rs' }).click()
    await log.getByText('pub struct Session').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })

  it('has the checks above the diff, and names the one that keeps it from being merged', async () => {
    await opens('/tasks/149?tab=diff')
    const checks = visitor.page.getByRole('list', { name: 'Checks' })
    await checks.getByRole('img', { name: 'Passed' }).first().waitFor()
    const file = visitor.page.locator('[data-file]').first()
    await file.waitFor()
    const [above, below] = [await checks.boundingBox(), await file.boundingBox()]
    expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual(below?.y ?? 0)
    const before = stage.scene.checks
    stage.scene.checks = before.map((it, at) => (at === 0 ? { ...it, state: 'failed' as const } : it))
    await opens('/tasks/149?tab=diff')
    await visitor.page.getByText(`Not mergeable: ${before[0]?.name} fails.`).first().waitFor()
    expect(await visitor.page.getByRole('button', { name: 'Merge', exact: true }).isDisabled()).toBe(true)
    stage.scene.checks = before
  })
})
