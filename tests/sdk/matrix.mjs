/** One loop that every version of the JavaScript SDK can do. */
import assert from 'node:assert/strict'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 60_000, metadata: { matrix: 'js' } })
try {
  assert.equal((await sandbox.commands.run('echo hi')).stdout, 'hi\n')
  await sandbox.files.write('a.txt', 'content')
  assert.equal(await sandbox.files.read('a.txt'), 'content')
  assert.ok((await sandbox.files.list('/home/user')).some((entry) => entry.name === 'a.txt'))
  assert.ok((await Sandbox.list().nextItems()).some((info) => info.sandboxId === sandbox.sandboxId))
  await sandbox.setTimeout(120_000)
  const again = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await again.isRunning(), true)
  await assert.rejects(again.commands.run('exit 3'), (error) => error.exitCode === 3)
} finally {
  // Older ones say nothing.
  assert.notEqual(await sandbox.kill(), false)
}
assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
