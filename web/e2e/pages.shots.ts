/** Pictures of every page, light and dark, on a desk and in a hand. `npm run shots` puts them into `shots/`. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, it } from 'vitest'
import { PAGES } from './stage/pages'
import { Stage } from './stage/stage'
import { STATES } from './stage/states'
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
const isWanted = (name: string) =>
  !only || only.some((it) => name === it || (it.endsWith('*') && name.startsWith(it.slice(0, -1))))

for (const [size, width, height] of [
  ['desktop', 1440, 900],
  ['phone', 390, 844],
] as const) {
  for (const theme of ['light', 'dark'] as const) {
    const dress = async () => {
      await visitor.page.setViewportSize({ width, height })
      await visitor.page.addInitScript((it) => localStorage.setItem('carrel.theme', it), theme)
    }
    const take = (name: string) =>
      visitor.page.screenshot({ path: join(FOLDER, `${name}-${size}-${theme}.png`) })

    it(`${size}, ${theme}`, async () => {
      await dress()
      for (const { name, path, act, isMeasuring, isStill } of PAGES) {
        if (!isWanted(name)) continue
        await visitor.page.goto(`${stage.origin}/app${path}`)
        if (!isStill) await visitor.page.locator('[data-stream="live"]').first().waitFor()
        if (act) await act(visitor)
        if (isMeasuring) await visitor.page.waitForTimeout(7_000)
        await visitor.settle()
        await take(name)
      }
    })

    it(`${size}, ${theme}, on days that are not ordinary`, async () => {
      await dress()
      for (const { name, path, holds, mood, act, isStill } of STATES) {
        if (!isWanted(name)) continue
        const other = await Stage.open(holds?.())
        if (mood) other.mood = mood
        try {
          await visitor.page.goto(`${other.origin}/app${path}`)
          if (!isStill) await visitor.page.locator('[data-stream="live"]').first().waitFor()
          if (act) await act(visitor, other)
          // What never comes cannot be waited for: the picture is of the waiting.
          if (mood === 'silent') await visitor.page.getByRole('status', { name: 'Loading' }).first().waitFor()
          else await visitor.settle()
          await take(name)
        } finally {
          await visitor.page.mouse.up()
          await other.close()
        }
      }
    })
  }
}
