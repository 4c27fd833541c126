/** Whether the place of a repository's pull requests knows us, and what our credential lacks there. */
import { useMutation } from '@tanstack/react-query'
import { Check, PlugZap, X } from 'lucide-react'
import { callJson } from '../api/call'
import { say } from '../api/problem'
import type { RepoFitness } from '../api/types'
import { Button } from '../ui/Button'
import { Trouble } from '../ui/Small'
import { t } from '../words/words'
import { FORGES } from './forges'

export function Connection({ repo }: { repo: string }) {
  const test = useMutation({
    mutationFn: () =>
      callJson<RepoFitness>(`/api/v1/repos/${encodeURIComponent(repo)}/test`, { method: 'POST' }),
  })
  const told = test.data
  const forge = told ? (FORGES[told.forge] ?? told.forge) : ''
  return (
    <div className="mt-3 border-t border-line pt-3">
      <Button icon={<PlugZap />} isBusy={test.isPending} onClick={() => test.mutate()}>
        {t('Test the connection')}
      </Button>
      {test.isError && (
        <div className="mt-3">
          <Trouble title={t('It could not be tested')} detail={say(test.error)} />
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
              ? told.login
                ? t('{forge} answers, and knows us as {login}.', { forge, login: told.login })
                : t('{forge} answers.', { forge })
              : t('{forge} does not let us in.', { forge })}
          </p>
          {told.missing.length > 0 && (
            <ul aria-label={t('What is missing')} className="mt-2 space-y-1 text-small text-oxblood">
              {[...new Set(told.missing)].map((sentence) => (
                <li key={sentence} className="wrap-anywhere">
                  {sentence}
                </li>
              ))}
            </ul>
          )}
          {told.reached && told.missing.length === 0 && (
            <p className="mt-1 text-small text-faint">
              {t('Nothing is missing: pulls, comments, checks and merges.')}
            </p>
          )}
        </div>
      )}
    </div>
  )
}
