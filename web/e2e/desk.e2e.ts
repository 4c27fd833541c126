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

  it('stand in a tree that opens by keyboard, and new ones go to the folder that is open', async () => {
    await run('mkdir -p /home/user/shelf/upper/inner && echo deep > /home/user/shelf/upper/inner/deep.txt')
    await show('files')
    await visitor.page.getByRole('button', { name: /upper$/ }).focus()
    await visitor.page.keyboard.press('ArrowRight')
    await visitor.page.getByRole('button', { name: /inner$/ }).waitFor()
    await visitor.page.keyboard.press('ArrowDown')
    await visitor.page.keyboard.press('ArrowRight')
    await visitor.page.getByRole('button', { name: /^deep\.txt/ }).waitFor()
    await visitor.page
      .getByLabel('Files to upload')
      .setInputFiles({ name: 'beside.txt', mimeType: 'text/plain', buffer: Buffer.from('beside\n') })
    await visitor.page.getByRole('button', { name: /^beside\.txt/ }).waitFor()
    expect(await run('cat /home/user/shelf/upper/inner/beside.txt')).toBe('beside\n')
    expect(await visitor.barriers()).toEqual([])
  })
})

describe('the network', () => {
  it('is widened by a host while the desk works, and says what is wrong with a name', async () => {
    await show('network')
    const field = visitor.page.getByLabel('Allow a host')
    await visitor.forgiving(/422|400/, async () => {
      await field.fill('not a host')
      await field.press('Enter')
      await visitor.page.getByRole('alert').waitFor()
    })
    await field.fill('*.example.org')
    await visitor.page.getByText('--allow *.example.org').waitFor()
    await field.press('Enter')
    await visitor.page.getByRole('list', { name: 'Allowed hosts' }).getByText('*.example.org').waitFor()
    const { network } = await server.ask<{ network: { mode: string; allow: string[] } }>(
      'GET',
      `/sandboxes/${sandbox.id}`,
    )
    expect(network).toMatchObject({ mode: 'allow', allow: ['*.example.org'] })
    expect(await visitor.barriers()).toEqual([])
  })

  it('shows what was turned away, and lets it through when somebody says so', async () => {
    await run('curl -sS -m 20 -x http://127.0.0.1:49980 http://turned-away.example/ || true')
    await show('network')
    const row = visitor.page.locator('[data-refused="turned-away.example"]')
    await row.getByText('is not on the list').waitFor()
    expect(await visitor.barriers()).toEqual([])
    await row.getByRole('button', { name: 'Allow turned-away.example' }).click()
    await row.getByText('allowed now').waitFor()
    const { network } = await server.ask<{ network: { allow: string[] } }>('GET', `/sandboxes/${sandbox.id}`)
    expect(network.allow).toContain('turned-away.example')
  })
})

describe('the log', () => {
  it('shows what a command prints while it prints it, over the death of the server, each line once', async () => {
    // It goes on when it is told to: a test that waits for lines must not race them.
    await server.ask('POST', `/sandboxes/${sandbox.id}/execute`, {
      command:
        'cd /home/user; for i in 1 2 3 4 5 6 7 8 9; do until [ -e go-$i ]; do sleep 0.05; done; echo "line $i"; done',
      background: true,
    })
    await show('logs')
    const output = visitor.page.locator('[data-output]')
    await output.waitFor()
    await run('touch /home/user/go-1 /home/user/go-2 /home/user/go-3')
    await output.getByText('line 3').waitFor()
    await visitor.forgiving(/ERR_|Failed to load resource/, async () => {
      await server.crash()
      await server.restart()
      await run('cd /home/user && touch go-4 go-5 go-6')
      await output.getByText('line 6').waitFor({ timeout: 60_000 })
    })
    await visitor.page.reload()
    await output.getByText('line 6').waitFor()
    await run('cd /home/user && touch go-7 go-8 go-9')
    await output.getByText('line 9').waitFor()
    expect((await output.innerText()).match(/line \d/g)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => `line ${at}`),
    )
    expect(await visitor.barriers()).toEqual([])
  })
})

describe('a preview', () => {
  it('shows what runs on a port inside: its styles, scripts and what it asks for, by paths of its own', async () => {
    const files = {
      'index.html': [
        '<!doctype html><html lang="en"><head><title>Within</title><link rel="stylesheet" href="/assets/look.css"></head>',
        '<body><h1>Served from within</h1><p id="told">nothing</p><p id="kept">nothing</p>',
        '<a href="/second.html">On</a><script type="module" src="/assets/page.js"></script></body></html>',
      ],
      'second.html': [
        '<!doctype html><html lang="en"><title>Second</title><h1>A second page</h1><p id="kept">nothing</p>',
        "<script>document.getElementById('kept').textContent = 'kept: ' + localStorage.getItem('word')</script></html>",
      ],
      'assets/look.css': ['h1 { color: rgb(1, 2, 3) }'],
      'assets/page.js': [
        "import { name } from './name.js'",
        "const answer = await (await fetch('/api/word.json')).json()",
        "document.getElementById('told').textContent = name + ' says ' + answer.word",
        "localStorage.setItem('word', answer.word)",
        "document.getElementById('kept').textContent = document.cookie + localStorage.getItem('word')",
        // What is ours it cannot touch: not our page, not our address, not the API with our cookie.
        'let reached = []',
        "try { top.document.title; reached.push('page') } catch {}",
        `for (const path of ['/api/v1/me', '/api/v1/sandboxes']) try { await fetch('${server.origin}' + path, { credentials: 'include' }); reached.push(path) } catch {}`,
        `await fetch('${server.origin}/api/v1/sandboxes', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }).catch(() => {})`,
        "document.body.dataset.reached = reached.join() || 'nothing'",
      ],
      'assets/name.js': ["export const name = 'the module'"],
      'api/word.json': ['{"word": "hello"}'],
    }
    for (const [name, lines] of Object.entries(files)) {
      const text = Buffer.from(lines.join('\n')).toString('base64')
      await run(
        `cd /home/user && mkdir -p $(dirname page/${name}) && echo ${text} | base64 -d > page/${name}`,
      )
    }
    await server.ask('POST', `/sandboxes/${sandbox.id}/execute`, {
      argv: ['python3', '-m', 'http.server', '8000', '--bind', '127.0.0.1', '--directory', '/home/user/page'],
      background: true,
    })
    await run(
      'until python3 -c "import socket; socket.create_connection((\\"127.0.0.1\\", 8000))" 2>/dev/null; do :; done',
    )
    await show('preview')
    const before = (await server.ask<{ items: unknown[] }>('GET', '/sandboxes?limit=100')).items.length
    await visitor.forgiving(/CORS|ERR_FAILED|Failed to load resource|401/, async () => {
      await visitor.page.getByRole('button', { name: '8000' }).click()
      const inside = visitor.page.frameLocator('iframe[data-preview="shown"]')
      const heading = inside.getByRole('heading', { name: 'Served from within' })
      await heading.waitFor()
      // A heading is there before the styles are that it asks for.
      await expect
        .poll(() => heading.evaluate((it) => getComputedStyle(it).color), { timeout: 30_000 })
        .toBe('rgb(1, 2, 3)')
      await inside.getByText('the module says hello').waitFor()
      expect(await inside.locator('#kept').innerText()).toBe('hello')
      await inside.locator('body[data-reached="nothing"]').waitFor()
      await inside.getByRole('link', { name: 'On' }).click()
      await inside.getByRole('heading', { name: 'A second page' }).waitFor()
      await inside.getByText('kept: hello').waitFor()
    })
    const after = (await server.ask<{ items: unknown[] }>('GET', '/sandboxes?limit=100')).items.length
    expect(after, 'it makes nothing in our name').toBe(before)
    expect(await visitor.barriers()).toEqual([])
    const [tab] = await Promise.all([
      visitor.page.context().waitForEvent('page'),
      visitor.page.getByRole('button', { name: 'In a tab of its own' }).click(),
    ])
    await tab.getByText('the module says hello').waitFor()
    await tab.close()
  })

  it('says when nothing listens, and looks again', async () => {
    await visitor.forgiving(/502/, async () => {
      await visitor.page.getByLabel('Port').fill('8123')
      await visitor.page.getByRole('button', { name: 'Again' }).click()
      await visitor.page.getByText('Nothing listens on port 8123').waitFor()
    })
    expect(await visitor.barriers()).toEqual([])
  })

  it('says where ports have no names, and which way there works', async () => {
    // As a server answers that is called by the address of another machine.
    await visitor.page.route('**/port_link', (route) =>
      route.fulfill({
        status: 409,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: '/problems/conflict',
          title: 'No name for it',
          status: 409,
          detail: 'ports have names of their own only below a name; this server is called by an address',
          hint: 'call it by a name, or set `server.sandbox_domain`',
        }),
      }),
    )
    await visitor.forgiving(
      /409|401|blocked|CORS|sandboxed|Failed to load|localStorage|ERR_FAILED/,
      async () => {
        await visitor.page.getByLabel('Port').fill('8000')
        await visitor.page.getByRole('button', { name: 'Again', exact: true }).click()
        await visitor.page.getByText(`carrel sandbox forward ${sandbox.id} 8000`).waitFor()
        await visitor.page
          .frameLocator('iframe')
          .getByRole('heading', { name: 'Served from within' })
          .waitFor()
        // What such a page asks for by paths of its own does not come, neither for it nor for whoever looks at it.
        expect(await visitor.barriers()).toEqual([])
      },
    )
    await visitor.page.unroute('**/port_link')
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

describe('a conversation', () => {
  it('is broken off, goes on with other words, and can be gone back to', async () => {
    await server.ask('POST', '/repos', { new: true, name: 'talk' })
    await server.ask('POST', '/agents', {
      name: 'slow',
      dialect: 'shell',
      command:
        'case "$CARREL_PROMPT" in *long*) echo half >half.txt; echo working on it; sleep 1000;; *) echo "$CARREL_PROMPT" >>notes.txt; echo noted;; esac',
    })
    const session = await server.ask<{ id: string; sandbox_id: string }>('POST', '/sessions', {
      agent: 'slow',
      repo: 'talk',
      title: 'A long talk',
    })
    await server.ask('GET', `/sandboxes/${session.sandbox_id}?wait=ready&timeout=60`)
    await visitor.page.goto(`${server.origin}/app/sessions/${session.id}`)
    const log = visitor.page.getByRole('log')
    const words = visitor.page.getByLabel('Message to the agent')
    await words.fill('A long answer, please')
    await visitor.page.getByRole('button', { name: 'Send' }).click()
    await log.getByText('working on it').first().waitFor({ timeout: 60_000 })
    await visitor.page.getByRole('button', { name: 'Stop' }).click()
    await log.getByText('stopped it.').waitFor()
    await log.getByText('The work was saved: half.txt changed.').waitFor({ timeout: 60_000 })
    await visitor.page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })

    await words.fill('Another long one')
    await visitor.page.getByRole('button', { name: 'Send' }).click()
    await log.getByText('working on it').nth(1).waitFor({ timeout: 60_000 })
    await words.fill('Note this instead')
    await visitor.page.getByRole('button', { name: 'Now', exact: true }).click()
    await log.getByText('noted', { exact: true }).waitFor({ timeout: 60_000 })
    await log.getByText('The work was saved: notes.txt changed.').waitFor({ timeout: 60_000 })
    expect(await visitor.barriers()).toEqual([])

    await log.getByRole('button', { name: 'Diff since' }).first().click()
    await visitor.page.getByText('Only since a checkpoint').waitFor()
    const diff = visitor.page.getByRole('region', { name: 'Diff' })
    await diff.getByText('notes.txt').first().waitFor()
    expect(await diff.getByText('half.txt').count()).toBe(0)
    await diff.getByRole('button', { name: 'Show all' }).click()
    await diff.getByText('half.txt').first().waitFor()
    expect(await visitor.barriers()).toEqual([])

    await log.getByRole('button', { name: 'Fork from here' }).first().click()
    await visitor.page.waitForURL((url) => !url.pathname.endsWith(session.id))
    await log.getByText(`This goes on from session ${session.id}`).waitFor()
    await log.getByText('A long answer, please').waitFor()
    expect(await log.getByText('noted', { exact: true }).count(), 'that was said later').toBe(0)

    await visitor.page.goBack()
    await log.getByRole('button', { name: 'Open here' }).first().click()
    await visitor.page.waitForURL('**/app/sandboxes/*')
    await visitor.page
      .getByRole('button', { name: /^half\.txt/ })
      .first()
      .waitFor({ timeout: 60_000 })
  })
})
