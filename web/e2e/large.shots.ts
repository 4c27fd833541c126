/** How a change of twenty megabytes is read: how soon its files are listed, and how long the page stands still. `npm run large` prints the figures. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Stage } from './stage/stage'
import { Visitor } from './visitor'

const LINE = '+    let value = compute_something(&input, index).await?; // a line of an ordinary length\n'
const file = (name: string, lines: number) =>
  `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,${lines} @@\n${LINE.repeat(lines)}`

const CHANGES = {
  'two thousand files': () =>
    Array.from({ length: 2_000 }, (_, at) => file(`src/part-${at % 40}/file-${at}.rs`, 115)).join(''),
  'one file of twenty thousand lines': () => file('src/long.rs', 20_000),
}

let stage: Stage
let visitor: Visitor

beforeAll(async () => {
  stage = await Stage.open()
  visitor = await Visitor.arrive()
  await visitor.page.setViewportSize({ width: 1600, height: 900 })
})

afterAll(async () => {
  await visitor?.leave()
  await stage?.close()
})

it.each(Object.entries(CHANGES))('%s', async (name, make) => {
  const body = make()
  stage.scene.diff = body
  await visitor.page.addInitScript(() => {
    const still: number[] = []
    Object.assign(window, { still })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) still.push(entry.duration)
    }).observe({ entryTypes: ['longtask'] })
  })
  const began = performance.now()
  await visitor.page.goto(`${stage.origin}/app/tasks/155?tab=diff`)
  const first = visitor.page.locator('[data-file]').first()
  await first.waitFor({ timeout: 100_000 })
  const listed = Math.round(performance.now() - began)
  const button = first.locator('header button').first()
  if ((await button.getAttribute('aria-expanded')) === 'false') await button.click()
  const opened = performance.now()
  await first.locator('diffs-container').waitFor({ state: 'attached', timeout: 100_000 })
  await visitor.settle()
  const drawn = Math.round(performance.now() - opened)
  const still = await visitor.page.evaluate(() => (window as unknown as { still: number[] }).still)
  console.log(
    JSON.stringify({
      change: name,
      megabytes: Math.round(body.length / 1e5) / 10,
      listed_ms: listed,
      first_file_drawn_ms: drawn,
      longest_standstill_ms: Math.round(Math.max(0, ...still)),
    }),
  )
  await expect
    .poll(() => visitor.page.locator('[data-file]').count(), { timeout: 60_000 })
    .toBe(name.startsWith('one') ? 1 : 2_000)
})
