/** VS Code in the sandbox: found, started, and reached under a name of its own. */
import { callJson } from '../api/call'
import { Refusal } from '../api/problem'
import { t } from '../words/words'

/** Where the editor listens inside. */
export const EDITOR_PORT = 13_337

interface Executed {
  exit_code: number | null
  stdout: string
}

const LOOK = `PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/code-server/bin:/opt/openvscode-server/bin"
command -v code-server || command -v openvscode-server`

/** The program of the editor, if the template has one. */
export async function findEditor(sandboxId: string): Promise<string | undefined> {
  const answer = await execute(sandboxId, { command: LOOK, timeout_s: 20 })
  const path = answer.stdout.trim().split('\n')[0]
  return answer.exit_code === 0 && path?.startsWith('/') ? path : undefined
}

/** How each is started: for this sandbox alone, which asks for a pass already. */
export function startLine(program: string, folder: string): string[] {
  const port = String(EDITOR_PORT)
  return program.endsWith('openvscode-server')
    ? [
        program,
        '--host',
        '127.0.0.1',
        '--port',
        port,
        '--without-connection-token',
        '--default-folder',
        folder,
      ]
    : [program, '--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', '--disable-telemetry', folder]
}

/** A link to a port of the sandbox, for a tab or for a frame of this page; nothing while nobody listens there. */
export async function portLink(
  sandboxId: string,
  port: number,
  place: 'tab' | 'frame' = 'tab',
): Promise<string | undefined> {
  try {
    const link = await callJson<{ url: string }>(`${at(sandboxId)}/port_link`, {
      method: 'POST',
      body: place === 'frame' ? { port, frame: true } : { port },
    })
    return link.url
  } catch (error) {
    if (error instanceof Refusal && /nothing listens/i.test(error.message)) return undefined
    throw error
  }
}

/** Starts the editor unless it runs, and answers where it is once it listens. */
export async function openEditor(
  sandboxId: string,
  program: string,
  folder: string,
  rest: (ms: number) => Promise<void> = (ms) => new Promise((done) => setTimeout(done, ms)),
): Promise<string> {
  const running = await portLink(sandboxId, EDITOR_PORT)
  if (running) return running
  await execute(sandboxId, { argv: startLine(program, folder), background: true })
  for (let tries = 0; tries < 120; tries += 1) {
    const link = await portLink(sandboxId, EDITOR_PORT)
    if (link) return link
    await rest(500)
  }
  throw new Error(t('The editor was started, but it does not answer. The logs of the sandbox tell more.'))
}

const at = (id: string) => `/api/v1/sandboxes/${encodeURIComponent(id)}`

const execute = (id: string, body: object) =>
  callJson<Executed>(`${at(id)}/execute`, { method: 'POST', body })
