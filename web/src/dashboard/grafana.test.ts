/** The file for Grafana asks only for what the server tells. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = readFileSync(join(ROOT, 'docs/grafana/carrel.json'), 'utf8')

interface Panel {
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { expr: string }[]
}

/** Every series that some crate counts. */
function told(): Set<string> {
  const names = new Set<string>()
  for (const path of readdirSync(join(ROOT, 'crates'), { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.rs') || !path.includes('/src/')) continue
    for (const [, name] of readFileSync(join(ROOT, 'crates', path), 'utf8').matchAll(/"(carrel_[a-z_]+)"/g))
      names.add(name as string)
  }
  return names
}

describe('the dashboard for Grafana', () => {
  const { panels } = JSON.parse(FILE) as { panels: Panel[] }

  it('asks for nothing that is not counted', () => {
    const known = told()
    const asked = panels.flatMap((panel) =>
      panel.targets.flatMap(({ expr }) => [...expr.matchAll(/carrel_[a-z_]+/g)].map(([name]) => name)),
    )
    expect(asked.length).toBeGreaterThan(20)
    expect(asked.filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, '')))).toEqual([])
  })

  it('puts no panel over another', () => {
    const taken = new Map<string, string>()
    for (const { title, gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.get(`${x} ${y}`), title).toBeUndefined()
          expect(x).toBeLessThan(24)
          taken.set(`${x} ${y}`, title)
        }
    }
  })
})
