/** Which commands may be run at a desk when somebody asks for it from outside. */
import { Field, inputLook } from '../ui/Field'
import { t } from '../words/words'
import type { CommandDraft } from './patterns'

interface CommandFieldsProps {
  draft: CommandDraft
  onChange(draft: CommandDraft): void
  /** What is wrong, by the names of the fields. */
  wrong: Readonly<Record<string, string>>
}

export function CommandFields({ draft, onChange, wrong }: CommandFieldsProps) {
  const area = (name: keyof CommandDraft, label: string, hint: string, placeholder: string) => (
    <Field label={label} hint={hint} error={wrongIn(wrong, name)}>
      {(wiring) => (
        <textarea
          {...wiring}
          rows={2}
          spellCheck={false}
          placeholder={placeholder}
          value={draft[name]}
          onChange={(event) => onChange({ ...draft, [name]: event.target.value })}
          className={`${inputLook} h-auto min-h-16 resize-y py-2 font-mono text-small`}
        />
      )}
    </Field>
  )
  return (
    <div className="grid gap-3.5 sm:grid-cols-2">
      {area(
        'allow',
        t('Only these commands'),
        t('One on each line. Empty: all of them.'),
        'git **\nmake test',
      )}
      {area(
        'deny',
        t('Never these commands'),
        t('One on each line; ** is any number of words.'),
        'git push **',
      )}
    </div>
  )
}

/** The server names a pattern by its place, such as `commands.deny[0]`. */
function wrongIn(wrong: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.entries(wrong).find(([field]) => field.startsWith(`commands.${name}`))?.[1]
}
