/** Whether the place of a repository's pull requests knows us, and what our credential lacks there. */
import { useMutation } from '@tanstack/react-query'
import { Check, PlugZap, X } from 'lucide-react'
import { callJson } from '../api/call'
import { say } from '../api/problem'
import type { RepoFitness } from '../api/types'
import { Button } from '../ui/Button'
import { Trouble } from '../ui/Small'

const NAMES: Record<string, string> = { embedded: 'This house', github: 'GitHub', gitea: 'Gitea' }

export function Connection({ repo }: { repo: string }) {
  const test = useMutation({
    mutationFn: () =>
      callJson<RepoFitness>(`/api/v1/repos/${encodeURIComponent(repo)}/test`, { method: 'POST' }),
  })
  const told = test.data
  return (
    <div className="mt-3 border-t border-line pt-3">
      <Button icon={<PlugZap />} isBusy={test.isPending} onClick={() => test.mutate()}>
        Test the connection
      </Button>
      {test.isError && (
        <div className="mt-3">
          <Trouble title="It could not be tested" detail={say(test.error)} />
        </div>
      )}
      {told && (
        <div role="status" data-fitness={told.missing.length === 0 ? 'good' : 'lacking'} className="mt-3">
          <p className="flex items-center gap-2">
            {told.reached ? (
              <Check aria-hidden className="size-4 shrink-0 text-lamp" />
            ) : (
              <X aria-hidden className="size-4 shrink-0 text-oxblood" />
            )}
            {told.reached
              ? `${NAMES[told.forge] ?? told.forge} answers${told.login ? `, and knows us as ${told.login}` : ''}.`
              : `${NAMES[told.forge] ?? told.forge} does not let us in.`}
          </p>
          {told.missing.length > 0 && (
            <ul aria-label="What is missing" className="mt-2 space-y-1 text-small text-oxblood">
              {told.missing.map((sentence) => (
                <li key={sentence} className="wrap-anywhere">
                  {sentence}
                </li>
              ))}
            </ul>
          )}
          {told.reached && told.missing.length === 0 && (
            <p className="mt-1 text-small text-faint">
              Nothing is missing: pulls, comments, checks and merges.
            </p>
          )}
        </div>
      )}
    </div>
  )
}
