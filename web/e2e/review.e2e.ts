/** A review that goes on where it stopped, with everything real. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Server } from './server'
import { Visitor } from './visitor'

let server: Server
let visitor: Visitor

beforeAll(async () => {
  server = await Server.open({ CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await visitor.page.setViewportSize({ width: 1600, height: 900 })
  await visitor.page.goto(server.link)
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
  await server.ask('POST', '/repos', { new: true, name: 'sample' })
  // The first turn writes a poem of forty lines, each further one changes what it is told to and adds a file.
  await server.ask('POST', '/agents', {
    name: 'poet',
    dialect: 'shell',
    command: [
      'mkdir -p poems/early && if [ -e poems/early/lamp.txt ]; then',
      'sed -i "s/^line 30$/line thirty/" poems/early/lamp.txt && echo "of a chair" > poems/chair.txt',
      'else seq 1 40 | sed "s/^/line /" > poems/early/lamp.txt; echo "of a desk" > poems/desk.txt; fi',
      'git add poems && git commit --quiet --message "poems: write"',
    ].join('\n'),
  })
})

afterAll(async () => {
  await visitor?.leave()
  try {
    await server?.clear()
  } finally {
    await server?.close()
  }
})

afterEach(() => {
  expect(visitor.complaints(), 'complaints of the browser').toEqual([])
})

describe('a review', () => {
  it('goes on where it stopped: what is new since then, line by line, and the whole when it is wanted', async () => {
    const { id } = await server.ask<{ id: number }>('POST', '/tasks', {
      repo: 'sample',
      agent: 'poet',
      title: 'Write poems',
      start: true,
    })
    const reaches = async (phase: string) => {
      const now = await server.ask<{ phase: string; head: string; needs: unknown }>(
        'GET',
        `/tasks/${id}?wait=${phase}&timeout=120`,
      )
      expect(now.phase, JSON.stringify(now.needs)).toBe(phase)
      return now.head
    }
    const before = await reaches('in_review')
    await visitor.page.goto(`${server.origin}/app/tasks/${id}?tab=diff`)
    const lamp = visitor.page.locator('[data-file="poems/early/lamp.txt"]')
    await lamp.getByText('+40').waitFor()
    await visitor.page.getByRole('button', { name: 'Mark all read' }).click()
    await visitor.page.getByText('Since my last review: nothing').waitFor()

    await visitor.page.getByLabel('Message to the agent').fill('Line 30 in letters, please.')
    await visitor.page.getByRole('button', { name: 'Send', exact: true }).click()
    await expect.poll(async () => (await reaches('in_review')) !== before, { timeout: 120_000 }).toBe(true)

    await lamp.getByText('since your review').waitFor()
    await lamp.getByText('line thirty').waitFor()
    await expect.poll(() => lamp.locator('header').innerText(), { timeout: 30_000 }).toMatch(/\+1\s*−1/)
    await visitor.page.locator('[data-file="poems/chair.txt"]').waitFor()
    expect(await visitor.page.locator('[data-file="poems/desk.txt"]').count()).toBe(0)
    // The tree has all of them, in their folders; what was read is not to be jumped to.
    const tree = visitor.page.getByRole('navigation', { name: 'Changed files' })
    await tree.getByRole('button', { name: 'early' }).waitFor()
    expect(await tree.getByRole('button', { name: /^desk\.txt/ }).isDisabled()).toBe(true)
    expect(await visitor.barriers()).toEqual([])

    await visitor.page.getByRole('switch', { name: 'Since my last review' }).click()
    await visitor.page.locator('[data-file="poems/desk.txt"]').waitFor()
    await expect.poll(() => lamp.locator('header').innerText(), { timeout: 30_000 }).toMatch(/\+40\s*−0/)

    // From file to file by keyboard.
    const held = () =>
      visitor.page.evaluate(() => document.activeElement?.closest('[data-file]')?.getAttribute('data-file'))
    await visitor.page.keyboard.press('j')
    expect(await held()).toBe('poems/chair.txt')
    await visitor.page.keyboard.press('j')
    expect(await held()).toBe('poems/desk.txt')
    await visitor.page.keyboard.press('k')
    expect(await held()).toBe('poems/chair.txt')

    // Where the tree has no room beside the lines it is behind a button.
    await visitor.page.setViewportSize({ width: 1100, height: 800 })
    await visitor.page.getByRole('button', { name: '3 files' }).click()
    await tree.getByRole('button', { name: 'early' }).waitFor()
    expect(await visitor.barriers()).toEqual([])
    await tree.getByRole('button', { name: /^lamp\.txt/ }).click()
    await tree.waitFor({ state: 'hidden' })
    await visitor.page.setViewportSize({ width: 1600, height: 900 })

    // Against a checkpoint it is a part, says so, and leads back to the whole.
    await visitor.page.getByRole('button', { name: 'Diff since' }).first().click()
    const part = visitor.page.locator('[data-since]')
    await part.getByText('Only since a checkpoint').waitFor()
    await lamp.getByText('since the checkpoint').waitFor()
    await lamp.getByText('line thirty').waitFor()
    await expect.poll(() => lamp.locator('header').innerText(), { timeout: 30_000 }).toMatch(/\+1\s*−1/)
    expect(await visitor.page.locator('[data-file="poems/desk.txt"]').count()).toBe(0)
    expect(await visitor.page.getByRole('button', { name: 'Mark all read' }).count()).toBe(0)
    expect(await visitor.barriers()).toEqual([])
    // Line 30 of the file, though it is the first that this part shows as changed.
    await lamp.getByRole('button', { name: 'Comment on poems/early/lamp.txt' }).click()
    await lamp.getByLabel('Comment on line', { exact: true }).fill('30')
    await lamp.getByRole('button', { name: 'Write', exact: true }).click()
    await lamp.getByLabel('Comment on line 30').fill('Letters become it.')
    await lamp.getByRole('button', { name: 'Add to the review' }).click()
    const comment = lamp.locator('[data-comment]')
    await comment.getByText('not sent yet').waitFor()
    await visitor.page.reload()
    await part.getByRole('button', { name: 'Show all' }).click()
    await part.waitFor({ state: 'detached' })
    await lamp.locator('[data-comment="draft"]').getByText('Letters become it.').waitFor()
    await visitor.page.getByRole('switch', { name: 'Since my last review' }).click()
    await lamp.getByText('since your review').waitFor({ state: 'detached' })
    await expect.poll(() => lamp.locator('header').innerText(), { timeout: 30_000 }).toMatch(/\+40\s*−0/)
    await comment.getByRole('button', { name: 'Remove' }).click()
    await comment.waitFor({ state: 'detached' })

    // What was merged can still be read, though its base has all of it.
    await server.ask('POST', `/tasks/${id}/merge`)
    await reaches('merged')
    await visitor.page.reload()
    await visitor.page.locator('header [data-phase="merged"]').waitFor()
    await visitor.page.locator('[data-file="poems/chair.txt"]').getByText('+1').waitFor()
  })
})

describe('a pull that no task opened', () => {
  it('is found at its repository, read, spoken of, judged and merged at its page', async () => {
    const { page } = visitor
    await server.ask('PATCH', '/repos/sample', { pulls: { approvals: 1 } })
    await pushByHand('by-hand', 'chairs.txt', 'of chairs\nand of tables\n')
    await server.ask('POST', '/pulls', {
      repo: 'sample',
      head: 'by-hand',
      title: 'Write of chairs',
      body: 'There were **no chairs**.',
    })
    await page.goto(`${server.origin}/app/repos/sample`)
    await page.getByRole('region', { name: 'Pulls without a task' }).getByText('Write of chairs').click()
    await page.getByRole('heading', { name: /Write of chairs/ }).waitFor()
    await page.getByText('no chairs').waitFor()
    const file = page.locator('[data-file="chairs.txt"]')
    await file.getByText('and of tables').waitFor()
    await page.getByText('Not mergeable: one more approval is missing.').waitFor()
    expect(await page.getByRole('button', { name: 'Merge', exact: true }).isDisabled()).toBe(true)

    // What is said of a line stands at the pull, for everybody.
    await file.getByRole('button', { name: 'Comment on chairs.txt' }).click()
    await file.getByLabel('Comment on line', { exact: true }).fill('2')
    await file.getByRole('button', { name: 'Write', exact: true }).click()
    await file.getByLabel('Comment on line 2').fill('And of desks?')
    await file.getByRole('button', { name: 'Add to the review' }).click()
    await file.locator('[data-comment="draft"]').waitFor()
    await page.getByRole('button', { name: 'Send 1 comment' }).click()
    await file.locator('[data-remark]').getByText('And of desks?').waitFor()
    expect(await file.locator('[data-comment]').count()).toBe(0)
    const { items } = await server.ask<{ items: { path: string; line: number }[] }>(
      'GET',
      `${new URL(page.url()).pathname.replace('/app', '')}/comments`,
    )
    expect(items).toMatchObject([{ path: 'chairs.txt', line: 2 }])
    expect(await visitor.barriers()).toEqual([])

    // Nobody approves their own; somebody else does, and the page hears of it.
    const { secret } = await server.ask<{ secret: string }>('POST', '/keys', { name: 'mona', role: 'member' })
    const approved = await fetch(
      `${server.origin}/api/v1${new URL(page.url()).pathname.replace('/app', '')}/reviews`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify({ verdict: 'approved' }),
      },
    )
    expect(approved.status).toBe(201)
    await page.getByRole('button', { name: 'Merge', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Merge' }).click()
    await page.locator('[data-pull="merged"]').waitFor({ timeout: 60_000 })
    expect(await page.getByRole('button', { name: 'Merge', exact: true }).count()).toBe(0)
    await page.reload()
    await file.getByText('and of tables').waitFor()
    expect(await visitor.barriers()).toEqual([])
  })
})

/** A branch with one more file, as somebody with a clone pushes it. */
async function pushByHand(branch: string, file: string, content: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'carrel-hand-'))
  const run = promisify(execFile)
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], { cwd: folder })
  try {
    const address = new URL(`${server.origin}/git/sample.git`)
    address.username = 'ada'
    address.password = await server.adminKey()
    await git('clone', '--quiet', address.href, '.')
    await git('switch', '--quiet', '--create', branch)
    await writeFile(join(folder, file), content)
    await git('add', '.')
    await git('commit', '--quiet', '--message', `feat: ${file}`)
    await git('push', '--quiet', 'origin', branch)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
