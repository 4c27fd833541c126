/** Pictures of every page, light and dark, on a desk and in a hand. `npm run shots` puts them into `shots/`. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { Stage } from './stage/stage'
import { Visitor } from './visitor'

const FOLDER = join(import.meta.dirname, '../shots')
const PAGES: readonly [string, string, ((visitor: Visitor) => Promise<void>)?][] = [
  ['board', '/'],
  ['task-talk', '/tasks/155'],
  [
    'task-diff',
    '/tasks/155?tab=diff',
    (visitor) => visitor.page.getByText('LIFETIME').first().waitFor({ state: 'attached' }),
  ],
  ['task-question', '/tasks/152?tab=details'],
  ['task-files', '/tasks/155?tab=files'],
  ['task-logs', '/tasks/155?tab=logs'],
  ['sessions', '/sessions'],
  ['session', '/sessions/ses-1'],
  ['repos', '/repos'],
  ['repo', '/repos/api'],
  ['agents', '/agents'],
  ['templates', '/templates'],
  ['sandboxes', '/sandboxes'],
  ['sandbox', '/sandboxes/sbx-155', watch],
  ['sandbox-files', '/sandboxes/sbx-155?tab=files'],
  ['dashboard', '/dashboard', watch],
  ['settings', '/settings'],
  ['members', '/members'],
  ['keys', '/keys'],
  ['secrets', '/secrets'],
  ['audit', '/audit'],
  ['new-task', '/', (visitor) => press(visitor, 'n')],
  ['palette', '/', (visitor) => press(visitor, 'Control+k')],
]

/** Long enough for a few measurements, so that a line can be seen. */
async function watch(visitor: Visitor): Promise<void> {
  await visitor.page.waitForTimeout(7_000)
}

async function press(visitor: Visitor, key: string): Promise<void> {
  await visitor.page.keyboard.press(key)
  await visitor.page.getByRole('dialog').waitFor()
}

let stage: Stage
let visitor: Visitor

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true })
  stage = await Stage.open()
  visitor = await Visitor.arrive()
})

afterAll(async () => {
  await visitor?.leave()
  await stage?.close()
})

const only = process.env.SHOTS?.split(',')

for (const [size, width, height] of [
  ['desktop', 1440, 900],
  ['phone', 390, 844],
] as const) {
  for (const theme of ['light', 'dark'] as const) {
    it(`${size}, ${theme}`, async () => {
      await visitor.page.setViewportSize({ width, height })
      await visitor.page.addInitScript((it) => localStorage.setItem('carrel.theme', it), theme)
      for (const [name, path, act] of PAGES) {
        if (only && !only.includes(name)) continue
        await visitor.page.goto(`${stage.origin}/app${path}`)
        await visitor.page.locator('[data-stream="live"]').first().waitFor()
        if (act) await act(visitor)
        await visitor.settle()
        await visitor.page.screenshot({ path: join(FOLDER, `${name}-${size}-${theme}.png`) })
      }
    })
  }
}
