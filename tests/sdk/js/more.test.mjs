/** The rest of the JavaScript SDK: volumes, secrets, networks, git, forks, and the builder's other words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ALL_TRAFFIC,
  AuthenticationError,
  BuildError,
  E2B,
  RateLimitError,
  Sandbox,
  Secret,
  Template,
  Volume,
  VolumeNotFoundError,
  VolumePathNotFoundError,
  waitForTimeout,
} from 'e2b'

const fresh = (word) => `${word}-${Date.now()}-${Math.floor(Math.random() * 1e6)}`

async function within(options, work) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, ...options })
  try {
    return await work(sandbox)
  } finally {
    await sandbox.kill()
  }
}

test('a client that was told everything looks for nothing around it', async () => {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = process.env
  for (const name of ['E2B_API_KEY', 'E2B_API_URL', 'E2B_SANDBOX_URL']) delete process.env[name]
  try {
    await assert.rejects(Sandbox.create(), AuthenticationError)
    const client = new E2B({ apiKey, apiUrl, sandboxUrl })
    assert.deepEqual(Object.keys(client).sort(), ['Sandbox', 'Secret', 'Template', 'Volume'], 'and all of it is tried')
    const sandbox = await client.Sandbox.create({ timeoutMs: 60_000 })
    try {
      assert.equal((await sandbox.commands.run('echo hi')).stdout, 'hi\n')
    } finally {
      assert.ok(await client.Sandbox.kill(sandbox.sandboxId))
    }
    assert.ok(await client.Template.exists('base'))
    assert.ok(Array.isArray(await client.Volume.list()))
    assert.ok(Array.isArray(await client.Secret.list().nextItems()))
    const other = new E2B({ apiKey: `e2b_${'0'.repeat(40)}`, apiUrl, sandboxUrl })
    await assert.rejects(other.Sandbox.create(), AuthenticationError)
  } finally {
    Object.assign(process.env, { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl })
  }
})

test('a volume is shared, and outlives sandboxes', async () => {
  const name = fresh('js')
  const volume = await Volume.create(name)
  try {
    assert.equal((await Volume.getInfo(volume.volumeId)).token, volume.token)
    assert.ok((await Volume.list()).some((it) => it.volumeId === volume.volumeId))
    assert.equal((await Volume.connect(volume.volumeId)).name, name)
    await volume.makeDir('a/b', { force: true })
    assert.equal((await volume.writeFile('a/b/c', 'content', { mode: 0o600 })).mode & 0o777, 0o600)
    assert.equal(await volume.readFile('a/b/c'), 'content')
    assert.deepEqual([...(await volume.readFile('a/b/c', { format: 'bytes' }))], [...Buffer.from('content')])
    assert.deepEqual((await volume.list('a', { depth: 2 })).map((it) => it.path), ['/a/b', '/a/b/c'])
    assert.equal((await volume.getInfo('a/b/c')).type, 'file')
    assert.equal((await volume.updateMetadata('a/b/c', { uid: 1000, gid: 1000 })).uid, 1000)
    assert.equal(await volume.exists('a/b/x'), false)
    await within({ volumeMounts: { '/data': volume } }, async (sandbox) => {
      assert.equal(await sandbox.files.read('/data/a/b/c'), 'content')
      await sandbox.files.write('/data/mine', 'mine')
    })
    assert.equal(await volume.readFile('mine'), 'mine')
    await volume.remove('a')
    await assert.rejects(volume.readFile('a/b/c'), VolumePathNotFoundError)
  } finally {
    assert.equal(await Volume.destroy(volume.volumeId), true)
  }
  assert.equal(await Volume.destroy(volume.volumeId), false)
  await assert.rejects(Volume.getInfo(volume.volumeId), VolumeNotFoundError)
})

test('a secret is set, shown without its value, and removed', async () => {
  const name = fresh('js')
  assert.equal((await Secret.create(name, 'one', { metadata: { a: 'b' } })).version, 1)
  assert.equal((await Secret.update(name, 'two')).version, 2)
  assert.deepEqual((await Secret.getInfo(name)).metadata, { a: 'b' })
  const pages = Secret.list({ limit: 100 })
  assert.ok((await pages.nextItems()).some((it) => it.name === name) || pages.hasNext)
  assert.equal(Secret.fill(name), `\${e2b.secrets.${name}}`)
  assert.equal(Secret.iamToken({ audience: 'x', tokenType: 'JWT-SVID' }).audience, 'x')
  assert.equal(await Secret.exists(name), true)
  assert.equal(await Secret.destroy(name), true)
  assert.equal(await Secret.exists(name), false)
})

test('a network is replaced while a sandbox runs', async () => {
  await within({}, async (sandbox) => {
    assert.ok(sandbox.getHost(3000).startsWith(`3000-${sandbox.sandboxId}.`))
    await sandbox.updateNetwork({ allowOut: ['example.org', '10.1.0.0/16'], denyOut: [ALL_TRAFFIC] })
    assert.deepEqual((await sandbox.getInfo()).network.allowOut, ['example.org', '10.1.0.0/16'])
    const said = await sandbox.commands.run('curl -s -m 10 http://8.8.8.8; true')
    assert.match(said.stdout, /not on the list/)
    await assert.rejects(sandbox.updateNetwork({ denyOut: ['example.org'] }))
  })
})

test('a fork is a copy, and snapshots are listed', async () => {
  await within({}, async (sandbox) => {
    await sandbox.files.writeFiles([{ path: 'a.txt', data: 'a' }])
    for (const fork of await sandbox.fork({ count: 2, timeoutMs: 60_000 })) {
      assert.equal(await fork.files.read('a.txt'), 'a')
      await fork.kill()
    }
    const kept = await sandbox.createSnapshot()
    const seen = await sandbox.listSnapshots().nextItems()
    assert.ok(seen.some((it) => it.snapshotId === kept.snapshotId))
    await Sandbox.deleteSnapshot(kept.snapshotId)
    assert.ok(sandbox.getMcpUrl().endsWith('/mcp'))
    await assert.rejects(sandbox.getMcpToken())
    await sandbox.betaPause()
    assert.equal((await sandbox.getInfo()).state, 'paused')
  })
})

test('every git helper works', async () => {
  await within({}, async (sandbox) => {
    const [git, work] = [sandbox.git, '/home/user/work']
    await sandbox.commands.run('git init -q --bare /home/user/remote.git')
    await git.init(work, { initialBranch: 'main' })
    await git.configureUser('Me', 'me@example.org')
    await git.setConfig('carrel.colour', 'red')
    assert.equal(await git.getConfig('carrel.colour'), 'red')
    await sandbox.files.write(`${work}/a.txt`, 'one\n')
    assert.equal((await git.status(work)).fileStatus.length, 1)
    await git.add(work)
    await git.commit(work, 'first')
    await git.remoteAdd(work, 'origin', '/home/user/remote.git')
    assert.equal(await git.remoteGet(work, 'origin'), '/home/user/remote.git')
    await git.push(work, { remote: 'origin', branch: 'main' })
    await git.clone('/home/user/remote.git', { path: '/home/user/copy', branch: 'main' })
    await git.createBranch(work, 'topic')
    await git.checkoutBranch(work, 'main')
    assert.deepEqual(new Set((await git.branches(work)).branches), new Set(['main', 'topic']))
    await git.deleteBranch(work, 'topic', { force: true })
    await sandbox.files.write(`${work}/a.txt`, 'two\n')
    await git.restore(work, { paths: ['a.txt'] })
    await git.reset(work, { mode: 'hard' })
    await git.pull('/home/user/copy')
    await git.dangerouslyAuthenticate({ username: 'me', password: 'token', host: 'git.example.org' })
  })
})

test('the builder’s other words come to steps that are known', async () => {
  const template = Template()
    .fromTemplate('base')
    .skipCache()
    .makeSymlink('/tmp/a', '/tmp/b')
    .gitClone('https://example.org/x.git', '/tmp/x')
    .setUser('root')
    .setWorkdir('/tmp')
    .pipInstall(['x'])
    .npmInstall(['x'])
    .bunInstall(['x'])
    .aptInstall(['x'])
    .setStartCmd('sleep 1', waitForTimeout(1))
  const steps = JSON.parse(await Template.toJSON(template)).steps
  assert.ok(steps.every((it) => ['RUN', 'COPY', 'ENV', 'WORKDIR', 'USER'].includes(it.type)), JSON.stringify(steps))
  for (const word of ['Debian', 'Ubuntu', 'Fedora', 'Alpine', 'Arch', 'Python', 'Node', 'Bun', 'Base']) {
    const from = Template()[`from${word}Image`]().runCmd('true')
    assert.match(Template.toDockerfile(from), /^FROM /)
  }
})

test('one is built beside, tagged, and strange registries are refused', async () => {
  const name = fresh('js')
  const template = Template().fromDockerfile('FROM e2bdev/base\nRUN true').setReadyCmd(waitForTimeout(1))
  const info = await Template.buildInBackground(template, name)
  let status
  for (let tries = 0; tries < 600; tries += 1) {
    status = await Template.getBuildStatus(info)
    if (status.status === 'ready' || status.status === 'error') break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.equal(status.status, 'ready')
  assert.equal(await Template.aliasExists(name), true)
  await Template.assignTags(name, 'v1')
  assert.deepEqual(new Set((await Template.getTags(name)).map((it) => it.tag)), new Set(['default', 'v1']))
  await Template.removeTags(name, 'v1')
  assert.equal(await Sandbox.deleteSnapshot(name), true)
  const strange = [
    Template().fromImage('localhost:1/nobody/has-this:1'),
    Template().fromAWSRegistry('x', { accessKeyId: 'a', secretAccessKey: 'b', region: 'eu' }),
    Template().fromGCPRegistry('x', { serviceAccountJSON: {} }),
  ]
  for (const odd of strange) await assert.rejects(Template.build(odd.runCmd('true'), fresh('bad')), BuildError)
})

test('too many wrong keys are a rate limit', async () => {
  // Two hundred at once are taken for clumsiness, more are not.
  const wrong = () => Sandbox.connect('i0000000000000000000', { apiKey: `e2b_${'2'.repeat(40)}`, retries: 0 })
  await assert.rejects(async () => {
    for (let tries = 0; tries < 800; tries += 1) {
      await wrong().catch((error) => {
        if (error instanceof RateLimitError) throw error
      })
    }
  }, RateLimitError)
})
