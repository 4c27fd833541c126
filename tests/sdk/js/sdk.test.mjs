/** The JavaScript SDK, unmodified, against a real server with real sandboxes. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  AuthenticationError,
  BuildError,
  CommandExitError,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  Sandbox,
  SandboxNotFoundError,
  Template,
  TimeoutError,
} from 'e2b'

/** Asks until it is so: there is no bell to wait for through the SDK. */
async function soon(isSo, seconds = 30) {
  const end = Date.now() + seconds * 1000
  while (Date.now() < end) {
    if (await isSo()) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

let sandbox
before(async () => {
  sandbox = await Sandbox.create({ timeoutMs: 600_000, metadata: { suite: 'js' }, envs: { A: 'b' } })
})
after(async () => {
  await sandbox?.kill()
})

describe('sandboxes', () => {
  test('one is created with what it was asked for', async () => {
    const info = await sandbox.getInfo()
    assert.equal(info.sandboxId, sandbox.sandboxId)
    assert.equal(info.templateId, 'base')
    assert.equal(info.state, 'running')
    assert.deepEqual(info.metadata, { suite: 'js' })
    assert.ok(info.endAt > new Date())
    assert.equal(await sandbox.isRunning(), true)
    assert.equal((await sandbox.commands.run('echo $A')).stdout, 'b\n')
  })

  test('lists are filtered and paged', async () => {
    const others = await Promise.all([1, 2].map(() => Sandbox.create({ metadata: { 'a b': 'c&d' } })))
    const pages = Sandbox.list({ query: { metadata: { 'a b': 'c&d' }, state: ['running', 'paused'] }, limit: 1 })
    const seen = []
    while (pages.hasNext) seen.push(...(await pages.nextItems()))
    assert.deepEqual(new Set(seen.map((it) => it.sandboxId)), new Set(others.map((it) => it.sandboxId)))
    for (const other of others) assert.equal(await other.kill(), true)
  })

  test('one is paused, found paused, and brought back', async () => {
    const mine = await Sandbox.create()
    await mine.files.write('kept.txt', 'kept')
    const waited = await mine.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
    const told = assert.rejects(waited.wait(), TimeoutError)
    assert.equal(await mine.pause(), true)
    await told
    assert.equal(await mine.pause(), false)
    assert.equal((await mine.getInfo()).state, 'paused')
    assert.equal(await mine.isRunning(), false)
    const again = await Sandbox.connect(mine.sandboxId, { timeoutMs: 60_000 })
    assert.equal(await again.files.read('kept.txt'), 'kept')
    await again.setTimeout(120_000)
    assert.ok((await again.getMetrics()).length > 0)
    assert.equal(await again.kill(), true)
    assert.equal(await again.kill(), false)
    await assert.rejects(again.getInfo(), SandboxNotFoundError)
    await assert.rejects(Sandbox.connect(mine.sandboxId), SandboxNotFoundError)
  })

  test('a snapshot is a template', async () => {
    await sandbox.files.write('snap.txt', 'snap')
    const kept = await sandbox.createSnapshot()
    const copy = await Sandbox.create(kept.snapshotId)
    assert.equal(await copy.files.read('snap.txt'), 'snap')
    await copy.kill()
    assert.equal(await Sandbox.deleteSnapshot(kept.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(kept.snapshotId), false)
  })

  test('a hundred words fly past a hundred clients at once', async () => {
    const said = await Promise.all(
      Array.from({ length: 100 }, (_, number) => sandbox.commands.run(`echo ${number}`)),
    )
    assert.deepEqual(said.map((it) => it.stdout), Array.from({ length: 100 }, (_, number) => `${number}\n`))
  })
})

describe('commands', () => {
  test('one says what it printed and how it ended', async () => {
    let out = ''
    const result = await sandbox.commands.run('echo out; echo err >&2', { onStdout: (text) => (out += text) })
    assert.deepEqual([result.stdout, result.stderr, result.exitCode, out], ['out\n', 'err\n', 0, 'out\n'])
    await assert.rejects(sandbox.commands.run('exit 7'), (error) => error instanceof CommandExitError && error.exitCode === 7)
  })

  test('one in the background takes input, is listed and killed', async () => {
    const handle = await sandbox.commands.run('cat', { background: true, stdin: true })
    await sandbox.commands.sendStdin(handle.pid, 'typed')
    assert.ok((await sandbox.commands.list()).some((it) => it.pid === handle.pid))
    await sandbox.commands.closeStdin(handle.pid)
    assert.equal((await handle.wait()).stdout, 'typed')
    const long = await sandbox.commands.run('sleep 1000', { background: true, timeoutMs: 0 })
    const joined = await sandbox.commands.connect(long.pid, { timeoutMs: 0 })
    assert.equal(await long.kill(), true)
    await assert.rejects(joined.wait(), CommandExitError)
    assert.equal(await sandbox.commands.kill(long.pid), false)
  })

  test('one that takes too long is ended', async () => {
    await assert.rejects(sandbox.commands.run('sleep 100', { timeoutMs: 1000 }), TimeoutError)
  })

  test('a terminal shows, takes and changes its size', async () => {
    let shown = ''
    const terminal = await sandbox.pty.create({
      cols: 40,
      rows: 10,
      timeoutMs: 0,
      onData: (bytes) => (shown += new TextDecoder().decode(bytes)),
    })
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size\n'))
    assert.ok(await soon(() => shown.includes('10 40')), shown)
    await sandbox.pty.resize(terminal.pid, { cols: 50, rows: 20 })
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size\n'))
    assert.ok(await soon(() => shown.includes('20 50')), shown)
    assert.equal(await sandbox.pty.kill(terminal.pid), true)
  })
})

describe('files', () => {
  test('they come and go in every form', async () => {
    const written = await sandbox.files.write('js/text.txt', 'héllo')
    assert.equal(written.path, '/home/user/js/text.txt')
    assert.equal(await sandbox.files.read('js/text.txt'), 'héllo')
    const bytes = await sandbox.files.read('js/text.txt', { format: 'bytes' })
    assert.deepEqual([...bytes], [...new TextEncoder().encode('héllo')])
    assert.equal(await (await sandbox.files.read('js/text.txt', { format: 'blob' })).text(), 'héllo')
    let streamed = ''
    for await (const piece of await sandbox.files.read('js/text.txt', { format: 'stream' })) {
      streamed += new TextDecoder().decode(piece)
    }
    assert.equal(streamed, 'héllo')
    const many = await sandbox.files.write([1, 2, 3].map((n) => ({ path: `js/${n}`, data: `${n}` })))
    assert.equal(many.length, 3)
    await sandbox.files.write('js/buffer', new Uint8Array([0, 1, 2, 255]).buffer)
    assert.deepEqual([...(await sandbox.files.read('js/buffer', { format: 'bytes' }))], [0, 1, 2, 255])
  })

  test('folders are made, listed, moved and removed', async () => {
    assert.equal(await sandbox.files.makeDir('tree/a'), true)
    assert.equal(await sandbox.files.makeDir('tree/a'), false)
    await sandbox.files.write('tree/a/leaf', 'leaf')
    const listed = await sandbox.files.list('tree', { depth: 2 })
    assert.deepEqual(listed.map((it) => it.path).sort(), ['/home/user/tree/a', '/home/user/tree/a/leaf'])
    assert.equal((await sandbox.files.rename('tree/a/leaf', 'tree/moved')).path, '/home/user/tree/moved')
    assert.equal((await sandbox.files.getInfo('tree/moved')).size, 4)
    await sandbox.files.remove('tree')
    assert.equal(await sandbox.files.exists('tree'), false)
  })

  test('a folder is watched', async () => {
    await sandbox.files.makeDir('watched')
    const events = []
    const handle = await sandbox.files.watchDir('watched', (event) => events.push(event))
    await sandbox.files.write('watched/new.txt', 'new')
    assert.ok(await soon(() => events.length >= 3))
    assert.deepEqual(new Set(events.map((it) => it.type)), new Set(['create', 'chmod', 'write']))
    await handle.stop()
  })

  test('signed addresses read and write', async () => {
    await sandbox.files.write('signed.txt', 'signed')
    const link = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 100 })
    assert.equal(await (await fetch(link)).text(), 'signed')
    assert.equal((await fetch(link.replace('signed.txt', 'other.txt'))).status, 401)
    const form = new FormData()
    form.append('file', new Blob(['uploaded']), 'up.txt')
    assert.equal((await fetch(await sandbox.uploadUrl('up.txt'), { method: 'POST', body: form })).status, 200)
    assert.equal(await sandbox.files.read('up.txt'), 'uploaded')
  })
})

describe('errors are the SDK’s own', () => {
  test('authentication', async () => {
    await assert.rejects(Sandbox.create({ apiKey: `e2b_${'0'.repeat(40)}` }), AuthenticationError)
  })
  test('not found', async () => {
    await assert.rejects(sandbox.files.read('/no/such/file'), FileNotFoundError)
    await assert.rejects(Sandbox.connect('i0000000000000000000'), SandboxNotFoundError)
    assert.equal(await Sandbox.kill('i0000000000000000000'), false)
  })
  test('invalid argument', async () => {
    await assert.rejects(sandbox.files.list('/etc/passwd'), InvalidArgumentError)
    await assert.rejects(sandbox.commands.run('true', { cwd: '/no/such/folder' }), InvalidArgumentError)
  })
  test('not enough space', async () => {
    const size = Number((await sandbox.commands.run('df --output=size -B1 /dev/shm | tail -1')).stdout)
    await assert.rejects(sandbox.files.write('/dev/shm/big', new ArrayBuffer(size + 4096)), NotEnoughSpaceError)
  })
  test('a dead sandbox', async () => {
    const mine = await Sandbox.create()
    await mine.kill()
    await assert.rejects(mine.commands.run('true'), (error) => /was not found|timeout|not running|killed/i.test(error.message))
  })
})

describe('templates', () => {
  test('one is built, tagged and used', async (told) => {
    const folder = await mkdtemp(join(tmpdir(), 'context-'))
    told.after(() => rm(folder, { recursive: true, force: true }))
    await writeFile(join(folder, 'a.txt'), 'from the context')
    const name = `js-${Date.now()}`
    const lines = []
    const template = Template({ fileContextPath: folder })
      .fromTemplate('base')
      .copy('a.txt', '/home/user/a.txt')
      .runCmd('echo built > built')
      .setEnvs({ COLOUR: 'red' })
    const info = await Template.build(template, name, { onBuildLogs: (entry) => lines.push(entry.message) })
    assert.equal(info.templateId, name)
    assert.ok(lines.some((line) => line.includes('RUN echo built')), lines.join('\n'))
    assert.equal(await Template.exists(name), true)
    const mine = await Sandbox.create(name)
    assert.equal((await mine.commands.run('cat a.txt built; echo $COLOUR')).stdout, 'from the contextbuilt\nred\n')
    await mine.kill()
    assert.equal(await Sandbox.deleteSnapshot(name), true)
    assert.equal(await Template.exists(name), false)
  })

  test('one that fails says why', async () => {
    const template = Template().fromTemplate('base').runCmd('exit 3')
    await assert.rejects(Template.build(template, `js-bad-${Date.now()}`), BuildError)
  })
})
