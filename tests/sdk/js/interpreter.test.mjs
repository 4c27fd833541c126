/** The code interpreter, through its JavaScript SDK. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Sandbox } from '@e2b/code-interpreter'

let sandbox
before(async () => {
  // The first one of all has its template made, which takes longer than the SDK waits.
  for (let tries = 0; !sandbox; tries += 1) {
    try {
      sandbox = await Sandbox.create({ timeoutMs: 600_000 })
    } catch (error) {
      if (tries > 20 || !/being made/.test(error.message)) throw error
    }
  }
})
after(async () => {
  await sandbox?.kill()
})

test('a cell is run, and what it shows is told', async () => {
  const seen = []
  const run = await sandbox.runCode('print("printed")\n40 + 2', { onStdout: (message) => seen.push(message.line) })
  assert.equal(run.text, '42')
  assert.deepEqual([run.logs.stdout, seen], [['printed\n'], ['printed\n']])
  assert.equal((await sandbox.runCode('1 / 0')).error.name, 'ZeroDivisionError')
})

test('contexts are apart', async () => {
  const context = await sandbox.createCodeContext({ cwd: '/tmp' })
  assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp')
  assert.ok((await sandbox.listCodeContexts()).some((it) => it.id === context.id))
  await sandbox.restartCodeContext(context)
  await sandbox.removeCodeContext(context)
})
