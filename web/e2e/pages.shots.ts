/** Pictures of every page, light and dark, on a desk and in a hand. `npm run shots` puts them into `shots/`. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { PAGES } from './stage/pages'
import { Stage } from './stage/stage'
import { Visitor } from './visitor'

const FOLDER = join(import.meta.dirname, '../shots')
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
      for (const { name, path, act, isMeasuring } of PAGES) {
        if (only && !only.includes(name)) continue
        await visitor.page.goto(`${stage.origin}/app${path}`)
        await visitor.page.locator('[data-stream="live"]').first().waitFor()
        if (act) await act(visitor)
        if (isMeasuring) await visitor.page.waitForTimeout(7_000)
        await visitor.settle()
        await visitor.page.screenshot({ path: join(FOLDER, `${name}-${size}-${theme}.png`) })
      }
    })
  }
}
