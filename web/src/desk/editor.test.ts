import { describe, expect, it } from 'vitest'
import { startLine } from './editor'

describe('the editor', () => {
  it('listens inside alone, and asks for no password of its own', () => {
    expect(startLine('/usr/bin/code-server', '/work')).toEqual([
      '/usr/bin/code-server',
      '--bind-addr',
      '127.0.0.1:13337',
      '--auth',
      'none',
      '--disable-telemetry',
      '/work',
    ])
    expect(startLine('/opt/openvscode-server/bin/openvscode-server', '/work')).toContain(
      '--without-connection-token',
    )
  })
})
