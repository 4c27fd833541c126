/** Every sentence passes the one door: in a language that nobody speaks, nothing on any page is plain English. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PAGES } from './stage/pages'
import { Stage } from './stage/stage'
import { Visitor } from './visitor'

let stage: Stage
let visitor: Visitor

beforeAll(async () => {
  stage = await Stage.open()
  visitor = await Visitor.arrive()
  await visitor.page.setViewportSize({ width: 1700, height: 1000 })
  await visitor.page.addInitScript(() => localStorage.setItem('carrel.language', 'en-XA'))
})

afterAll(async () => {
  await visitor?.leave()
  await stage?.close()
})

/** What a page shows or reads aloud that did not pass the door. Commands, keys and code are the same in every language. */
function leftovers(): string[] {
  const found: string[] = []
  const isSame = (element: Element | null) =>
    Boolean(
      element?.closest(
        'code, pre, kbd, textarea, script, noscript, style, svg title, .xterm, [data-file] [data-code], diffs-container',
      ),
    )
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!isSame(node.parentElement)) found.push(node.textContent ?? '')
  }
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    for (const name of ['aria-label', 'title', 'placeholder'])
      if (!isSame(element)) found.push(element.getAttribute(name) ?? '')
  found.push(document.title)
  return found
}

/** An exact moment, as the browser's own words have it. */
const MOMENT = /\d{4}, \d{2}:\d{2}:\d{2}/
/** Units, names and signs that are the same in every language. */
const UNIVERSAL =
  /^(Carrel|UTC|GitHub|VS|Code|Markdown|API|CPU|MiB|GiB|kB|MB|GB|TB|ms|GMT|AM|PM|task|Ctrl|Enter|Esc|Escape|Prometheus)$/

it.each(PAGES.map((page) => [page.name, page] as const))('%s', async (_, { path, act, isStill }) => {
  const scene = JSON.stringify(stage.scene, (_key, value) => value as unknown)
  const known = new Set(scene.match(/[A-Za-z]{2,}/g))
  await visitor.page.goto(`${stage.origin}/app${path}`)
  if (!isStill) await visitor.page.locator('[data-stream="live"]').first().waitFor()
  if (act) await act(visitor)
  await visitor.settle()
  const plain = (await visitor.page.evaluate(leftovers))
    .filter((text) => !text.includes('⟦') && !text.startsWith('/') && !MOMENT.test(text))
    .filter((text) => {
      const strange = (text.match(/[A-Za-z]{3,}/g) ?? []).filter(
        (it) => !known.has(it) && !UNIVERSAL.test(it),
      )
      return strange.length > 0
    })
  expect([...new Set(plain)]).toEqual([])
})
