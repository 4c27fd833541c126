/** A house on an ordinary morning, for pictures. */
import type { Pull, PullComment, PullReview } from '../../src/pull/types'
import { aSandbox } from '../../src/sandbox/sample'
import { aMoment, aTask } from '../../src/task/sample'
import type { Moment, Task } from '../../src/task/types'
import { DIFF } from './diff'

export type Scene = ReturnType<typeof scene>

export function scene(now = Date.now()) {
  const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString()
  const card = (id: number, title: string, bent: Partial<Task>): Task =>
    aTask({
      id,
      title,
      branch: `task-${id}`,
      base: 'main',
      created_at: ago(400 - id),
      updated_at: ago(3),
      ...bent,
    })
  const at = (id: number): Partial<Task> => ({
    sandbox_id: `sbx-${id}`,
    session_id: `ses-${id}`,
    isolation: 'namespace',
    network: { mode: 'allow', allow: ['crates.io'] },
  })
  const tasks: Task[] = [
    card(161, 'Offer a dark mode in the settings page', {
      repo: 'web-app',
      agent: 'claude',
      labels: ['feature'],
    }),
    card(160, 'Measure how long a cold start takes and write it down', {
      repo: 'api',
      agent: 'claude',
      depends_on: [{ task_id: 151, until: 'merged' }],
    }),
    card(159, 'Replace the home-grown retry loop', { repo: 'worker', agent: 'codex', priority: 2 }),
    card(158, 'Explain the permission model in the README', {
      repo: 'api',
      agent: 'claude',
      labels: ['docs'],
    }),
    card(157, 'Port the importer to streaming', {
      repo: 'worker',
      agent: 'claude',
      phase: 'queued',
      doing: 'waits for room in worker',
    }),
    card(156, 'Rename Account to Member everywhere', {
      repo: 'web-app',
      agent: 'claude',
      phase: 'queued',
      doing: 'waits for task 155',
      priority: 5,
    }),
    card(155, 'Fix the flaky login test', {
      ...at(155),
      repo: 'api',
      agent: 'claude',
      phase: 'working',
      started_at: ago(12),
      doing: 'cargo nextest run login',
      ahead: 3,
      behind: 1,
      cost_usd: 0.42,
      budget_usd: 5,
      head: '9f3c1a0d2b',
      labels: ['bug'],
      conflicts: [{ task_id: 149, paths: ['src/login.rs', 'src/session.rs'] }],
    }),
    card(154, 'Cache the avatar lookups', {
      ...at(154),
      repo: 'web-app',
      agent: 'codex',
      phase: 'working',
      started_at: ago(4),
      doing: 'Edit src/avatar/cache.ts',
      cost_usd: 0.11,
      ahead: 1,
    }),
    card(153, 'Upgrade to the new database driver', {
      ...at(153),
      repo: 'worker',
      agent: 'gemini',
      phase: 'preparing',
      started_at: ago(0.2),
    }),
    card(152, 'Split the billing module', {
      ...at(152),
      repo: 'api',
      agent: 'claude',
      phase: 'needs_you',
      needs: {
        reason: 'question',
        detail:
          'Invoices are numbered per tenant in two places. Should I keep the old numbers, or start a new series?',
      },
      ahead: 4,
      behind: 2,
      cost_usd: 1.87,
      updated_at: ago(21),
      started_at: ago(58),
    }),
    card(150, 'Make uploads resumable', {
      ...at(150),
      repo: 'web-app',
      agent: 'codex',
      phase: 'failed',
      needs: {
        reason: 'agent_failed',
        detail: 'The agent ended with exit code 137: it was out of memory at 2 GB.',
      },
      ahead: 2,
      cost_usd: 0.75,
      started_at: ago(75),
    }),
    card(149, 'Let people sign in with a passkey', {
      ...at(149),
      repo: 'api',
      agent: 'claude',
      phase: 'in_review',
      ahead: 6,
      cost_usd: 2.31,
      labels: ['feature', 'security'],
      pull: {
        number: 88,
        url: 'https://github.com/acme/api/pull/88',
        phase: 'mergeable',
      },
      conflicts: [{ task_id: 155, paths: ['src/login.rs', 'src/session.rs'] }],
      updated_at: ago(34),
      head: '1c77aa02f0',
    }),
    card(148, 'Speed up the search index build', {
      ...at(148),
      repo: 'worker',
      agent: 'codex',
      phase: 'in_review',
      ahead: 2,
      behind: 7,
      cost_usd: 0.64,
      pull: {
        url: '',
        number: 31,
        phase: 'checking',
      },
      updated_at: ago(8),
    }),
    card(147, 'Delete the legacy export endpoint', {
      ...at(147),
      repo: 'api',
      agent: 'claude',
      phase: 'in_review',
      ahead: 1,
      cost_usd: 0.2,
      pull: { url: '', number: 87, phase: 'conflicted' },
      updated_at: ago(50),
    }),
    ...[
      [146, 'Validate webhook signatures', 'api', 1.12],
      [145, 'Show the build number in the footer', 'web-app', 0.08],
      [144, 'Stop logging e-mail addresses', 'api', 0.31],
      [143, 'Use the system clock in tests', 'worker', 0.19],
      [142, 'Paginate the audit log', 'api', 0.9],
    ].map(([id, title, repo, cost]) =>
      card(id as number, title as string, {
        repo: repo as string,
        agent: 'claude',
        phase: id === 143 ? 'closed' : 'merged',
        cost_usd: cost as number,
        pull: { url: '', number: (id as number) - 60, phase: 'merged' },
        started_at: ago(60 * 6 * (147 - (id as number)) + ((id as number) % 7)),
        ended_at: ago(60 * 6 * (147 - (id as number)) - 20),
      }),
    ),
  ]
  const sandboxes = tasks
    .filter((task) => task.sandbox_id)
    .map((task) =>
      aSandbox({
        id: task.sandbox_id as string,
        task_id: task.id,
        agent_id: task.agent ?? null,
        phase: task.phase === 'needs_you' || task.phase === 'in_review' ? 'paused' : 'ready',
        want: task.phase === 'needs_you' || task.phase === 'in_review' ? 'paused' : 'ready',
        status: task.phase === 'needs_you' || task.phase === 'in_review' ? 'paused' : 'running',
        network: { mode: 'allow', allow: ['crates.io', 'index.crates.io'] },
        created_at: task.created_at,
        expires_at: new Date(now + 45 * 60_000).toISOString(),
        ready_at: ago(239),
      }),
    )
  const repo = (name: string, source: string | null, branch = 'main') => ({
    name,
    source,
    phase: 'ready',
    default_branch: branch,
    head: 'a94f1c2e77d0',
    merge: 'squash',
    check_command: 'make test',
    synced_at: ago(2),
    created_by: 'key-1',
    created_at: ago(9000),
    updated_at: ago(2),
    revision: 3,
  })
  const agents = [
    {
      name: 'claude',
      dialect: 'claude',
      model: 'claude-sonnet-4-5',
      found: true,
      built_in: true,
      about: 'Claude Code',
    },
    { name: 'codex', dialect: 'codex', model: 'gpt-5-codex' },
    {
      name: 'gemini',
      dialect: 'gemini',
      found: false,
      built_in: true,
      about: 'Gemini CLI',
      hint: 'npm install -g @google/gemini-cli',
    },
    {
      name: 'demo',
      dialect: 'shell',
      built_in: false,
      found: true,
      command: 'echo "Reading the wish: $CARREL_PROMPT"',
    },
  ]
  const sessions = [
    {
      id: 'ses-1',
      agent: 'claude',
      repo: 'api',
      title: 'How does the login work?',
      phase: 'open',
      busy: true,
      sandbox_id: 'sbx-155',
      created_at: ago(90),
      updated_at: ago(1),
    },
    {
      id: 'ses-2',
      agent: 'codex',
      repo: 'worker',
      title: 'Why is the importer slow?',
      phase: 'idle',
      created_at: ago(300),
      updated_at: ago(80),
    },
    {
      id: 'ses-3',
      agent: 'claude',
      repo: 'api',
      title: 'Which endpoints does nobody call?',
      phase: 'closed',
      created_at: ago(3000),
      updated_at: ago(2800),
    },
  ]
  return {
    tasks,
    sandboxes,
    repos: [
      repo('api', 'https://github.com/acme/api'),
      repo('web-app', 'https://github.com/acme/web-app'),
      repo('worker', '/srv/git/worker.git'),
    ],
    agents,
    sessions,
    timeline: conversation(ago),
    talk: talk(ago),
    diff: DIFF,
    me: { key_id: 'key-1', name: 'admin', role: 'admin' },
    templates: [
      {
        name: 'host',
        provider: 'local',
        phase: 'ready',
        memory: false,
        revision: 1,
        origin: 'This machine, read-only.',
      },
      {
        name: 'node-22',
        provider: 'local',
        phase: 'ready',
        memory: false,
        revision: 2,
        origin: 'docker.io/library/node:22',
        bytes: 412_000_000,
        layers: 8,
        created_by: 'key-1',
        ready_at: ago(300),
      },
      {
        name: 'rust',
        provider: 'local',
        phase: 'building',
        memory: false,
        revision: 1,
        note: 'Step 3 of 5: apt-get install build-essential',
        created_by: 'key-1',
      },
    ],
    providers: [
      {
        name: 'local',
        isolation: ['namespace', 'gvisor'],
        templates: ['host', 'node-22'],
        abilities: ['pause', 'fork'],
        reach: 'node',
        missing: [],
        breaker: { state: 'closed', failures: 0 },
      },
      {
        name: 'e2b',
        isolation: [],
        templates: [],
        abilities: [],
        reach: 'anywhere',
        missing: ['E2B_API_KEY is not set.'],
        breaker: { state: 'closed', failures: 0 },
      },
    ],
    keys: [
      {
        id: 'key-1',
        name: 'admin',
        role: 'admin',
        created_at: ago(9000),
        last_used_at: ago(0.5),
        revision: 1,
        prefix: 'crl_1f2e',
      },
      {
        id: 'key-2',
        name: 'Ada',
        role: 'member',
        created_at: ago(7000),
        last_used_at: ago(35),
        revision: 1,
        prefix: 'crl_77c0',
      },
      {
        id: 'key-3',
        name: 'Noor',
        role: 'member',
        created_at: ago(20),
        revision: 1,
        prefix: 'crl_a91b',
      },
      {
        id: 'key-4',
        name: 'ci',
        role: 'agent',
        agent_id: 'codex',
        created_at: ago(6000),
        last_used_at: ago(300),
        revision: 1,
        prefix: 'crl_0d3f',
      },
    ],
    secrets: [
      {
        name: 'ANTHROPIC_API_KEY',
        created_at: ago(9000),
        updated_at: ago(2000),
        updated_by: 'key-1',
        revision: 2,
      },
      {
        name: 'GITHUB_TOKEN',
        repo: 'api',
        created_at: ago(9000),
        updated_at: ago(8000),
        updated_by: 'key-1',
        revision: 1,
      },
    ],
    audit: [
      ...(
        [
          [2, 'key-1', 'admin', 'task.start', 'task-155', 'done'],
          [5, 'key-3', 'Ada', 'pull.review', 'api#88', 'done'],
          [9, 'key-2', 'ci', 'sandbox.network', 'sbx-154', 'denied'],
          [14, 'key-1', 'admin', 'repo.change', 'worker', 'done'],
          [31, 'key-3', 'Ada', 'task.merge', 'task-146', 'done'],
          [44, 'key-2', 'ci', 'secret.set', 'GITHUB_TOKEN', 'denied'],
          [80, 'key-1', 'admin', 'key.create', 'Noor', 'done'],
        ] as const
      ).map(([minutes, id, name, action, subject, outcome], at) => ({
        id: 90 - at,
        at: ago(minutes),
        actor: { kind: 'key', id, name },
        action,
        subject,
        outcome,
      })),
    ],
    files: [
      {
        name: 'src',
        path: '/home/user/src',
        kind: 'directory',
        size: 0,
        mode: '0755',
        owner: 'user',
        group: 'user',
      },
      {
        name: 'tests',
        path: '/home/user/tests',
        kind: 'directory',
        size: 0,
        mode: '0755',
        owner: 'user',
        group: 'user',
      },
      {
        name: 'Cargo.toml',
        path: '/home/user/Cargo.toml',
        kind: 'file',
        size: 1204,
        mode: '0644',
        owner: 'user',
        group: 'user',
      },
      {
        name: 'README.md',
        path: '/home/user/README.md',
        kind: 'file',
        size: 4812,
        mode: '0644',
        owner: 'user',
        group: 'user',
      },
    ],
    log: [
      { at: ago(12), text: 'Asked for by admin, for task-155.' },
      { at: ago(12), text: 'Ready after 41 ms.' },
      { at: ago(11), text: 'Ran: git status', exec_id: 'ex-1' },
      { at: ago(3), text: 'Ran: cargo nextest run login', exec_id: 'ex-2' },
    ],
    execs: [exec('ex-1', 'git status', ago(11), 0), exec('ex-2', 'cargo nextest run login', ago(3))],
    printed: PRINTED,
    nodes: (
      [
        ['oak', 'up', true, 16, 41],
        ['elm', 'up', false, 16, 52],
        ['ash', 'draining', false, 8, 20],
      ] as const
    ).map(([id, state, answers, cpus, free]) => ({
      id,
      state,
      answers,
      cpus,
      version: '0.1.0',
      memory_mb: 64 * 1024,
      free_mb: free * 1024,
      sandboxes: cpus / 4,
      seen_at: ago(0),
    })),
    stats: (id: string) => ({
      sandbox_id: id,
      at: new Date().toISOString(),
      usage: {
        cpu_us: Math.round(Date.now() * 600 + Math.sin(Date.now() / 1500 + id.charCodeAt(6)) * 900_000),
        memory_bytes:
          700_000_000 +
          (id.charCodeAt(6) % 9) * 90_000_000 +
          Math.round(Math.sin(Date.now() / 2500) * 60_000_000),
      },
      limits: { cpus: 2, memory_mb: 2048, disk_mb: 8192, pids: 512 },
      activity: { execs: 1, terminals: 0, ports: 0 },
    }),
    checks: [
      { name: 'test', state: 'passed' },
      { name: 'lint', state: 'passed' },
    ],
    pull: aPull(ago),
    byHand: byHand(ago),
    remarks: [
      remark(
        '501',
        ago(20),
        { path: 'src/login.rs', line: 20, side: 'new' },
        'Is twelve hours what we tell people in the **help page**?',
      ),
      remark('502', ago(15), {}, 'Tried it with a hardware key and with a phone. Both work.'),
    ],
    reviews: [
      {
        id: '71',
        author: 'mona',
        verdict: 'approved',
        body: 'Reads well. One question on the lifetime, no blocker.',
        commit: '1c77aa02f0',
        at: ago(14),
      } satisfies PullReview,
    ],
    refused: [
      {
        host: 'registry.npmjs.org',
        port: 443,
        why: 'It is not on the list of this sandbox.',
        times: 3,
        at: ago(1),
      },
      { host: 'crates.io', port: 443, why: 'It was not on the list of this sandbox.', times: 1, at: ago(9) },
    ],
    metrics: METRICS,
  }
}

function aPull(ago: (minutes: number) => string): Pull {
  return {
    repo: 'api',
    number: 88,
    forge: 'github',
    url: 'https://github.com/acme/api/pull/88',
    title: 'Let people sign in with a passkey',
    body: '',
    author: 'carrel',
    task_id: 149,
    head: 'task-149',
    head_commit: '1c77aa02f0',
    base: 'main',
    phase: 'mergeable',
    draft: false,
    labels: ['carrel'],
    reviewers: [],
    verdict: 'approved',
    approvals: 1,
    created_at: ago(60),
    updated_at: ago(14),
    revision: 4,
  }
}

/** One that somebody opened without a task. */
function byHand(ago: (minutes: number) => string): Pull {
  return {
    ...aPull(ago),
    number: 90,
    url: '',
    forge: 'embedded',
    task_id: null,
    title: 'Keep a session for twelve hours',
    body: 'People were signed out in the middle of the day.\n\n- the lifetime is **twelve hours**\n- a sign-out ends it at once',
    author: 'Ada',
    head: 'longer-sessions',
    created_at: ago(190),
    updated_at: ago(25),
  }
}

function remark(id: string, at: string, place: Partial<PullComment>, body: string): PullComment {
  return {
    id,
    author: 'mona',
    body,
    url: `https://github.com/acme/api/pull/88#r${id}`,
    created_at: at,
    updated_at: at,
    ...place,
  }
}

const METRICS = `carrel_sandboxes{phase="ready"} 4
carrel_sandboxes{phase="paused"} 4
carrel_http_requests_total 18234
carrel_sandbox_step_seconds_bucket{step="create",le="0.01"} 20
carrel_sandbox_step_seconds_bucket{step="create",le="0.05"} 420
carrel_sandbox_step_seconds_bucket{step="create",le="0.1"} 470
carrel_sandbox_step_seconds_bucket{step="create",le="+Inf"} 480
carrel_pool_hits_total 441
carrel_pool_misses_total 39
carrel_pool_waiting 6
carrel_forge_budget_remaining 4812
carrel_forge_budget_limit 5000
carrel_orphans 0
carrel_lost_work 0
carrel_zombies_total 0
carrel_disk_bytes{kind="total"} 512000000000
carrel_disk_bytes{kind="free"} 231000000000
`

function conversation(ago: (minutes: number) => string): Moment[] {
  let seq = 0
  const next = (minutes: number, moment: Partial<Moment>): Moment => {
    seq += 1
    return aMoment({ seq, at: ago(minutes), ...moment })
  }
  const tool = (minutes: number, name: string, title: string, output: string, ok = true) =>
    next(minutes, {
      kind: 'tool',
      role: 'agent',
      tool: { id: title, name, title, output, ok, input: { command: title } },
    })
  return [
    next(12, {
      kind: 'message',
      role: 'user',
      text: 'Fix the flaky login test\n\nIt fails about once in ten runs on CI. Begin with a test that fails because of it.',
    }),
    next(12, { kind: 'note', role: 'house', text: 'A desk was ready after 41 ms, on branch task-155.' }),
    next(11.5, {
      kind: 'thought',
      role: 'agent',
      text: 'The test waits 50 ms for a cookie to be set.\nOn a slow runner that is not enough. I should look at how the session is stored.',
    }),
    tool(11, 'read', 'Read tests/login.rs', 'async fn signs_in() {\n    …\n}'),
    tool(11, 'read', 'Read src/session.rs', 'pub struct Session { … }'),
    tool(
      10.5,
      'run',
      'cargo nextest run login --stress-count 50',
      'FAIL [ 0.212s] login signs_in (7 of 50)',
      false,
    ),
    next(10, {
      kind: 'message',
      role: 'agent',
      cost_usd: 0.09,
      text: 'I can see it: `signs_in` sleeps for **50 ms** and then reads the cookie, while the session is written by a task that was only *spawned*.\n\n1. make `open_session` await the write\n2. drop the sleep from the test\n3. add a test that holds the write back on purpose',
    }),
    tool(8, 'edit', 'Edit src/login.rs', 'The file was changed.'),
    tool(7, 'edit', 'Edit tests/login.rs', 'The file was changed.'),
    next(6, {
      kind: 'checkpoint',
      role: 'house',
      text: 'fix(login): await the session write',
      commit: '4b1d9e77aa01',
      files: ['src/login.rs', 'tests/login.rs'],
    }),
    next(4, {
      kind: 'message',
      role: 'user',
      text: 'Please keep the old function for one release, deprecated.',
    }),
    tool(3, 'edit', 'Edit src/session.rs', 'The file was changed.'),
    next(2, {
      kind: 'checkpoint',
      role: 'house',
      text: 'refactor(session): keep open() as deprecated',
      commit: '9f3c1a0d2b44',
      files: ['src/session.rs'],
    }),
    next(1, {
      kind: 'message',
      role: 'agent',
      cost_usd: 0.21,
      text: 'Done. `Session::open` is still there and marked `#[deprecated]`. I run the login tests 200 times now to be sure.',
    }),
  ]
}

/** What is said in a session: two turns, and a third under way. */
function talk(ago: (minutes: number) => string): Moment[] {
  const told: [number, Partial<Moment>][] = [
    [90, { role: 'user', text: 'How does the login work? Where is the cookie set?' }],
    [
      89,
      {
        role: 'agent',
        cost_usd: 0.04,
        text: 'In `src/login.rs`: `open_session` writes the session and answers with the cookie. The test in `tests/login.rs` reads it 50 ms later, and hopes.',
      },
    ],
    [89, { kind: 'checkpoint', role: 'house', text: 'The work was saved.', commit: 'a94f1c2e77d0' }],
    [20, { role: 'user', text: 'Write down what you found, beside the code.' }],
    [
      18,
      { kind: 'tool', role: 'agent', tool: { id: '1', name: 'edit', title: 'Edit src/login.rs', ok: true } },
    ],
    [
      17,
      {
        kind: 'checkpoint',
        role: 'house',
        text: 'The work was saved: src/login.rs changed.',
        commit: '4b1d9e77aa01',
        files: ['src/login.rs'],
      },
    ],
    [2, { role: 'user', text: 'And now the same for signing out.' }],
  ]
  return told.map(([minutes, moment], at) =>
    aMoment({ seq: at + 1, at: ago(minutes), kind: 'message', ...moment }),
  )
}

function exec(id: string, command: string, at: string, code?: number) {
  return {
    exec_id: id,
    sandbox_id: 'sbx-155',
    command,
    background: false,
    terminal: false,
    status: code === undefined ? 'running' : 'ended',
    exit_code: code ?? null,
    timed_out: false,
    created_by: 'key-1',
    started_at: at,
  }
}

const PRINTED = `   Compiling api v0.4.0 (/workspace)
    Finished test profile in 6.21s
    Starting 12 tests across 3 binaries
        PASS [   0.041s] api login::signs_in
        PASS [   0.038s] api login::signs_out
        PASS [   0.044s] api login::refuses_an_old_cookie
        PASS [   0.061s] api session::is_written_before_it_is_read
`
