/** What is on a desk, with everything real: files that come and go, a window on a port, attachments, a terminal that outlives its server. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Server } from './server'
import { Visitor } from './visitor'

let server: Server
let visitor: Visitor
let folder: string
let sandbox: { id: string }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'carrel-desk-'))
  server = await Server.open({ CARREL_DEMO_PAUSE: '0.1', CARREL_LOCAL_DISK: 'folder' })
  visitor = await Visitor.arrive()
  await visitor.page.goto(server.link)
  await visitor.page.locator('[data-stream="live"]').first().waitFor()
  sandbox = await server.ask('POST', '/sandboxes?wait=ready', {})
  await run('mkdir -p /home/user/shelf && echo "a first line" > /home/user/shelf/notes.txt')
})

afterAll(async () => {
  await visitor?.leave()
  try {
    await server?.clear()
  } finally {
    await server?.close()
    await rm(folder, { recursive: true, force: true })
  }
})

afterEach(() => {
  expect(visitor.complaints(), 'complaints of the browser').toEqual([])
})

const run = async (command: string) => {
  const done = await server.ask<{ exit_code: number; stdout: string; stderr: string }>(
    'POST',
    `/sandboxes/${sandbox.id}/execute`,
    { command },
  )
  expect(done.exit_code, done.stderr).toBe(0)
  return done.stdout
}
const show = (tab: string) =>
  visitor.page.goto(`${server.origin}/app/sandboxes/${sandbox.id}?tab=${tab}&at=%22%2Fhome%2Fuser%2Fshelf%22`)

describe('files', () => {
  it('are read and changed', async () => {
    await show('files')
    await visitor.page.getByRole('button', { name: /^notes\.txt/ }).click()
    const text = visitor.page.getByLabel('Content of notes.txt')
    expect(await text.inputValue()).toBe('a first line\n')
    await text.fill('another line\n')
    await visitor.page.getByRole('button', { name: 'Save', exact: true }).click()
    await visitor.page.getByRole('button', { name: 'Save', exact: true }).waitFor({ state: 'detached' })
    expect(await run('cat /home/user/shelf/notes.txt')).toBe('another line\n')
  })

  it('are brought and taken away, byte for byte', async () => {
    const path = join(folder, 'a picture.bin')
    const content = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 31) % 256))
    await writeFile(path, content)
    await visitor.page.getByLabel('Files to upload').setInputFiles(path)
    await visitor.page.getByRole('button', { name: /^a picture\.bin/ }).click()
    const [download] = await Promise.all([
      visitor.page.waitForEvent('download'),
      visitor.page.getByRole('link', { name: 'Download a picture.bin' }).click(),
    ])
    expect((await readFile(await download.path())).equals(content)).toBe(true)
  })

  it('are dropped on the page', async () => {
    const dropped = await visitor.page.evaluateHandle(() => {
      const data = new DataTransfer()
      data.items.add(new File(['let fall\n'], 'dropped.txt', { type: 'text/plain' }))
      return data
    })
    const home = visitor.page.getByRole('region', { name: 'Files' })
    await home.dispatchEvent('dragover', { dataTransfer: dropped })
    await home.dispatchEvent('drop', { dataTransfer: dropped })
    await visitor.page.getByRole('button', { name: /^dropped\.txt/ }).waitFor()
    expect(await run('cat /home/user/shelf/dropped.txt')).toBe('let fall\n')
    expect(await visitor.barriers()).toEqual([])
  })
})

describe('a preview', () => {
  it('shows what runs on a port inside', async () => {
    await run('mkdir -p /home/user/page && echo "<h1>Served from within</h1>" > /home/user/page/index.html')
    await server.ask('POST', `/sandboxes/${sandbox.id}/execute`, {
      argv: ['python3', '-m', 'http.server', '8000', '--bind', '127.0.0.1', '--directory', '/home/user/page'],
      background: true,
    })
    await run(
      'until python3 -c "import socket; socket.create_connection((\\"127.0.0.1\\", 8000))" 2>/dev/null; do :; done',
    )
    await show('preview')
    await visitor.page.getByRole('button', { name: '8000' }).click()
    await visitor.page.frameLocator('iframe').getByRole('heading', { name: 'Served from within' }).waitFor()
  })
})

describe('a terminal', () => {
  it('outlives its server: what ran goes on, and nothing is shown twice', async () => {
    await show('terminal')
    await visitor.page.locator('[data-terminal="open"]').waitFor({ timeout: 60_000 })
    const screen = visitor.page.locator('[data-terminal] .xterm-accessibility')
    const type = async (text: string) => {
      await visitor.page.locator('[data-terminal] textarea').focus()
      await visitor.page.keyboard.type(text)
      await visitor.page.keyboard.press('Enter')
    }
    await type('memory=kept; echo be""fore')
    await screen.getByText('before', { exact: true }).first().waitFor()
    await visitor.forgiving(/ERR_|Failed to load resource|WebSocket/, async () => {
      await server.crash()
      await visitor.page.locator('[data-terminal="broken"]').waitFor()
      await server.restart()
      await visitor.page.locator('[data-terminal="open"]').waitFor({ timeout: 60_000 })
    })
    await type('echo it is $memory')
    await screen.getByText('it is kept', { exact: true }).first().waitFor()
    const lines = (await screen.innerText()).split('\n').map((line) => line.trim())
    expect(lines.filter((line) => line === 'before')).toHaveLength(1)
  })
})

describe('an attachment', () => {
  it('is put on the desk of the agent, and named in the message', async () => {
    await server.ask('POST', '/agents', {
      name: 'reader',
      dialect: 'shell',
      command: 'echo "I read: $(cat /tmp/attachments/wish.txt)"',
    })
    const session = await server.ask<{ id: string; sandbox_id: string }>('POST', '/sessions', {
      agent: 'reader',
    })
    await server.ask('GET', `/sandboxes/${session.sandbox_id}?wait=ready&timeout=60`)
    const path = join(folder, 'wish.txt')
    await writeFile(path, 'a quieter lamp')
    await visitor.page.goto(`${server.origin}/app/sessions/${session.id}`)
    await visitor.page.getByLabel('Files to attach').setInputFiles(path)
    await visitor.page.getByRole('list', { name: 'Attachments' }).getByText('wish.txt').waitFor()
    await visitor.page.getByLabel('Message to the agent').fill('See what I wish for.')
    await visitor.page.getByRole('button', { name: 'Send' }).click()
    await visitor.page.getByRole('log').getByText('/tmp/attachments/wish.txt').first().waitFor()
    await visitor.page
      .getByRole('log')
      .getByText('I read: a quieter lamp')
      .first()
      .waitFor({ timeout: 60_000 })
  })
})

describe('a checkpoint', () => {
  it('is opened at a desk of its own, with the files as they were', async () => {
    await server.ask('POST', '/repos', { new: true, name: 'sample' })
    const { id } = await server.ask<{ id: number }>('POST', '/tasks', {
      repo: 'sample',
      agent: 'demo',
      title: 'Describe the lamp',
      start: true,
    })
    await server.ask('GET', `/tasks/${id}?wait=in_review&timeout=120`)
    await visitor.page.goto(`${server.origin}/app/tasks/${id}`)
    await visitor.page.getByRole('button', { name: 'Open here' }).first().click()
    await visitor.page.waitForURL('**/app/sandboxes/*')
    await visitor.page.getByRole('list', { name: 'Content of /workspace' }).waitFor({ timeout: 60_000 })
    await visitor.page.getByRole('button', { name: /docs/ }).waitFor()
  })
})
