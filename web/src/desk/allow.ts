/** A host more for a desk, while it works: nothing is started again. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api, ask } from '../api/client'
import { putSandbox } from '../api/fold'
import type { SandboxView } from '../api/types'

/** Who may reach everything needs no leave, and who is not there can be given none. */
export const canAllow = (sandbox: SandboxView) => sandbox.phase === 'ready' && sandbox.network.mode !== 'open'

export function useAllow(sandbox: SandboxView) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: (host: string) =>
      ask(
        api.POST('/api/v1/sandboxes/{id}/hosts', {
          params: { path: { id: sandbox.id } },
          body: { allow: [host] },
        }),
      ),
    onSuccess: (answer) => putSandbox(cache, answer as SandboxView),
  })
}

/** The same, for whoever is at a terminal. */
export const allowLine = (sandbox: SandboxView, host: string) =>
  `carrel sandbox network ${sandbox.id} --allow ${host}`

/** Whether a host is let through by a list of names; `*.example.org` takes in all names below it. */
export function isAllowed(host: string, list: readonly string[]): boolean {
  const name = host.toLowerCase()
  return list.some((it) => {
    const pattern = it.toLowerCase()
    return (
      pattern === '*' || pattern === name || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)))
    )
  })
}
