import { cx } from './cx'

interface Segment<T extends string> {
  value: T
  label: string
  count?: number
}

interface SegmentsProps<T extends string> {
  label: string
  value: T
  options: readonly Segment<T>[]
  onChange(value: T): void
}

/** One of a few, all in view. Radio buttons underneath, so arrows and screen readers do what they should. */
export function Segments<T extends string>({ label, value, options, onChange }: SegmentsProps<T>) {
  return (
    <fieldset className="flex max-w-full min-w-0 gap-0.5 overflow-x-auto rounded-lg bg-well p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className={cx(
            'relative flex h-8 cursor-pointer items-center gap-1.5 rounded-md px-2.5 whitespace-nowrap transition-colors duration-150 has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-brass',
            option.value === value ? 'bg-raised text-ink shadow-card' : 'text-soft hover:text-ink',
          )}
        >
          <input
            type="radio"
            name={label}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="absolute inset-0 cursor-pointer opacity-0"
          />
          {option.label}
          {option.count !== undefined && (
            <span className={cx('text-small', option.value === value ? 'text-soft' : 'text-faint')}>
              {option.count}
            </span>
          )}
        </label>
      ))}
    </fieldset>
  )
}
