/** What of the board is shown: by repository, agent, label and words. */
import { Search } from 'lucide-react'
import type { Ref } from 'react'
import type { Task } from '../task/types'
import { cx } from '../ui/cx'
import { Input, Select } from '../ui/Field'
import { Kbd } from '../ui/Small'
import { t } from '../words/words'
import { choices, type Filter } from './filter'

interface FiltersProps {
  tasks: readonly Task[]
  filter: Filter
  onChange(filter: Filter): void
  ref: Ref<HTMLInputElement>
}

export function Filters({ tasks, filter, onChange, ref }: FiltersProps) {
  const { repos, agents, labels } = choices(tasks)
  return (
    <search className="flex shrink-0 items-center gap-2 max-lg:order-last max-lg:min-w-0 max-lg:shrink max-lg:w-full max-lg:overflow-x-auto max-lg:p-0.5 max-lg:[scrollbar-width:none]">
      <Choice
        label={t('Repository')}
        all={t('All repos')}
        values={repos}
        value={filter.repo}
        onChange={(repo) => onChange({ ...filter, repo })}
      />
      <Choice
        label={t('Agent')}
        all={t('All agents')}
        values={agents}
        value={filter.agent}
        onChange={(agent) => onChange({ ...filter, agent })}
      />
      <Choice
        label={t('Label')}
        all={t('All labels')}
        values={labels}
        value={filter.label}
        onChange={(label) => onChange({ ...filter, label })}
      />
      <div className="relative w-44 shrink-0 max-lg:min-w-36 max-lg:flex-1">
        <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-faint" />
        <Input
          ref={ref}
          type="search"
          aria-label={t('Filter tasks')}
          placeholder={t('Filter')}
          value={filter.text ?? ''}
          onChange={(event) => onChange({ ...filter, text: event.target.value || undefined })}
          className="pr-8 pl-9"
        />
        <span
          aria-hidden
          className={cx(
            'pointer-events-none absolute top-2 right-2.5 max-md:hidden',
            filter.text && 'hidden',
          )}
        >
          <Kbd>/</Kbd>
        </span>
      </div>
    </search>
  )
}

interface ChoiceProps {
  label: string
  all: string
  values: readonly string[]
  value: string | undefined
  onChange(value: string | undefined): void
}

/** Shown only where there is something to choose. */
function Choice({ label, all, values, value, onChange }: ChoiceProps) {
  if (values.length < 2 && !value) return null
  return (
    <Select
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value || undefined)}
      className={cx('w-32! shrink-0 max-md:order-last', value && 'border-lamp bg-lamp-wash')}
    >
      <option value="">{all}</option>
      {(value && !values.includes(value) ? [value, ...values] : values).map((it) => (
        <option key={it} value={it}>
          {it}
        </option>
      ))}
    </Select>
  )
}
