/**
 * The VS Code button with a real code-server: `CODE_SERVER` names an archive (tar) with `node_modules/code-server` in it, made for
 * the Node of this machine. `npm run editor` has `code-server.sh` make one. Not part of `npm run e2e`: it is large.
 */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Server } from './server'
import { Visitor } from './visitor'

const ARCHIVE = process.env.CODE_SERVER
let server: Server
let visitor: Visitor

beforeAll(async () => {
  if (!ARCHIVE) throw new Error('CODE_SERVER must be the path of an archive with node_modules/code-server.')
  server = await Server.open({ CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await visitor.page.goto(server.link)
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
})

afterAll(async () => {
  await visitor?.leave()
  try {
    await server?.clear()
  } finally {
    await server?.close()
  }
})

it('opens a file in the browser, writes it, and runs a command in its terminal', async () => {
  const { id } = await server.ask<{ id: string }>('POST', '/sandboxes?wait=ready', {
    limits: { memory_mb: 2048, pids: 1024 },
  })
  const put = await fetch(`${server.origin}/api/v1/sandboxes/${id}/files?path=/home/user/editor.tar`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${await server.adminKey()}`,
      'content-type': 'application/octet-stream',
    },
    body: new Uint8Array(await readFile(ARCHIVE as string)),
  })
  expect(put.status).toBe(204)
  const run = (command: string) =>
    server.ask<{ exit_code: number; stdout: string; stderr: string }>('POST', `/sandboxes/${id}/execute`, {
      command,
    })
  const laid = await run(
    [
      'cd ~ && tar xf editor.tar && rm editor.tar && mkdir -p .local/bin desk && echo "a first line" > desk/notes.txt',
      'printf "#!/bin/sh\\nexec node $HOME/node_modules/code-server/out/node/entry.js \\"\\$@\\"\\n" > .local/bin/code-server',
      'chmod +x .local/bin/code-server && .local/bin/code-server --version',
    ].join(' && '),
  )
  console.log(laid.stdout.trim(), laid.stderr.trim())
  expect(laid.exit_code).toBe(0)

  await visitor.page.goto(`${server.origin}/app/sandboxes/${id}?at=%22%2Fhome%2Fuser%2Fdesk%22`)
  await visitor.page.setViewportSize({ width: 1440, height: 900 })
  const opened = visitor.page.context().waitForEvent('page')
  await visitor.page.getByRole('button', { name: 'VS Code' }).click()
  const editor = await opened
  await editor.locator('.monaco-workbench').waitFor({ timeout: 120_000 })
  expect(new URL(editor.url()).hostname).toBe(`13337-${id}.localhost`)
  // The dialog about trust is the editor's own; who opens their own desk trusts it.
  const trust = editor.getByRole('button', { name: 'Yes, I trust the authors' })
  await trust.click({ timeout: 60_000 })
  await editor.getByRole('treeitem', { name: 'notes.txt' }).dblclick({ timeout: 60_000 })
  await editor.locator('.view-line', { hasText: 'a first line' }).waitFor({ timeout: 60_000 })
  await editor.locator('.monaco-editor .view-line').first().click()
  await editor.keyboard.press('End')
  await editor.keyboard.type(', and more')
  await editor.keyboard.press('Control+s')
  await expect
    .poll(async () => (await run('cat ~/desk/notes.txt')).stdout, { timeout: 60_000 })
    .toBe('a first line, and more\n')
  await editor.keyboard.press('Control+Backquote')
  await editor.locator('.terminal-wrapper .xterm-screen').waitFor({ timeout: 60_000 })
  await editor.keyboard.type('echo from the editor > typed.txt\n')
  await expect
    .poll(async () => (await run('cat ~/desk/typed.txt 2>/dev/null')).stdout, { timeout: 60_000 })
    .toBe('from the editor\n')
  const folder = join(import.meta.dirname, '../shots')
  await mkdir(folder, { recursive: true })
  await editor.screenshot({ path: join(folder, 'editor.png') })
}, 600_000)
