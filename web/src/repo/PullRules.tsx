/** What is wanted of the pull requests of a repository: who must approve, who is asked, how they are opened. */
import { useState } from 'react'
import { fieldsOf } from '../api/problem'
import type { RepoView } from '../api/types'
import { Field, Input, Select } from '../ui/Field'
import { Switch } from '../ui/Switch'
import { t } from '../words/words'
import { phrases, useChange, words } from './change'
import { FORGES } from './forges'
import { RulesForm } from './RulesForm'

const MOST = 20
const SHOWN = ['forge', 'pulls.approvals', 'pulls.labels', 'pulls.reviewers']

export function PullRules({ repo, onSaved }: { repo: RepoView; onSaved(repo: RepoView | undefined): void }) {
  const rules = repo.pulls
  const [approvals, setApprovals] = useState(String(rules?.approvals ?? 0))
  const [labels, setLabels] = useState((rules?.labels ?? []).join(', '))
  const [reviewers, setReviewers] = useState((rules?.reviewers ?? []).join(' '))
  const [isDraft, setDraft] = useState(Boolean(rules?.draft))
  const [mergesItself, setMergesItself] = useState(Boolean(rules?.auto_merge))
  const [forge, setForge] = useState(repo.forge ?? '')
  const save = useChange(repo.name, onSaved)
  const fields = fieldsOf(save.error)
  const wanted = Number(approvals.trim() || '0')
  const isWrong = !(Number.isInteger(wanted) && wanted >= 0 && wanted <= MOST)
  const wish = () =>
    isWrong
      ? undefined
      : {
          ...(forge && forge !== repo.forge ? { forge } : {}),
          pulls: {
            approvals: wanted,
            labels: phrases(labels),
            reviewers: words(reviewers),
            draft: isDraft,
            auto_merge: mergesItself,
          },
        }
  return (
    <RulesForm title={t('Pull requests')} save={save} shown={SHOWN} wish={wish}>
      <Field label={t('Where they live')} error={fields.forge}>
        {(wiring) => (
          <Select {...wiring} value={forge} onChange={(event) => setForge(event.target.value)}>
            {!repo.forge && <option value="">{t('where it comes from, else here')}</option>}
            {Object.entries(FORGES).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field
        label={t('Approvals before a merge')}
        error={isWrong ? t('A whole number from 0 to {MOST}.', { MOST }) : fields['pulls.approvals']}
        hint={t('Of the head as it is: what is pushed after an approval wants another.')}
      >
        {(wiring) => (
          <Input
            {...wiring}
            inputMode="numeric"
            value={approvals}
            onChange={(event) => setApprovals(event.target.value)}
            className="w-24!"
          />
        )}
      </Field>
      <Field
        label={t('Reviewers who are asked')}
        error={fields['pulls.reviewers']}
        hint={t('By login, apart by spaces.')}
      >
        {(wiring) => (
          <Input
            {...wiring}
            value={reviewers}
            placeholder={t('nobody')}
            onChange={(event) => setReviewers(event.target.value)}
          />
        )}
      </Field>
      <Field
        label={t('Labels')}
        error={fields['pulls.labels']}
        hint={t('On every pull of a task, apart by commas.')}
      >
        {(wiring) => (
          <Input
            {...wiring}
            value={labels}
            placeholder={t('none')}
            onChange={(event) => setLabels(event.target.value)}
          />
        )}
      </Field>
      <div className="flex flex-col gap-2">
        <Switch isOn={isDraft} onChange={setDraft}>
          {t('Open as a draft')}
        </Switch>
        <Switch isOn={mergesItself} onChange={setMergesItself}>
          {t('Merge by itself once nothing stands in the way')}
        </Switch>
      </div>
    </RulesForm>
  )
}
