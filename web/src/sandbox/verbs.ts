/** What people can ask of a sandbox. Each guesses the outcome at once and takes the guess back, saying why, when the server refuses. */
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, ask } from '../api/client'
import { placeGuess, putSandbox } from '../api/fold'
import { say } from '../api/problem'
import { keys, providers } from '../api/queries'
import type { SandboxList, SandboxView } from '../api/types'
import { toast } from '../ui/Toast'
import { t } from '../words/words'

/** What the sandbox's provider can do beyond the life every provider gives. */
export function useAbilities(provider: string): readonly string[] {
  const { data } = useQuery(providers)
  return data?.find((it) => it.name === provider)?.abilities ?? []
}

export function useVerbs(sandbox: SandboxView) {
  const path = { params: { path: { id: sandbox.id } } }
  return {
    destroy: useVerb(sandbox.id, 'destroyed', { phase: 'closing', want: 'gone' }, () =>
      ask(api.DELETE('/api/v1/sandboxes/{id}', path)),
    ),
    pause: useVerb(sandbox.id, 'paused', { want: 'paused' }, () =>
      ask(api.POST('/api/v1/sandboxes/{id}/pause', path)),
    ),
    resume: useVerb(sandbox.id, 'resumed', { want: 'ready' }, () =>
      ask(api.POST('/api/v1/sandboxes/{id}/resume', path)),
    ),
    extend: useVerb(sandbox.id, 'extended', {}, (timeout_s: number) =>
      ask(api.POST('/api/v1/sandboxes/{id}/timeout', { ...path, body: { timeout_s } })),
    ),
  }
}

function useVerb<Input = void>(
  id: string,
  outcome: string,
  guess: Partial<SandboxView>,
  act: (input: Input) => Promise<SandboxView | undefined>,
) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: act,
    onMutate: () => {
      const before = find(cache, id)
      if (before) placeGuess(cache, { ...before, ...guess })
      return before
    },
    onSuccess: (answer) => {
      if (answer) putSandbox(cache, answer)
    },
    onError: (error, _input, before) => {
      // When the server has spoken since, what it said stands.
      if (before && find(cache, id)?.revision === before.revision) placeGuess(cache, before)
      toast(t('{id} was not {outcome}', { id, outcome }), say(error), 'bad')
    },
  })
}

function find(cache: QueryClient, id: string): SandboxView | undefined {
  return (
    cache.getQueryData<SandboxView>(keys.sandbox(id)) ??
    cache.getQueryData<SandboxList>(keys.sandboxes)?.items.find((it) => it.id === id)
  )
}
