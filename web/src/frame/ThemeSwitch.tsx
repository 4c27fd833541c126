import { Monitor, Moon, Sun } from 'lucide-react'
import { IconButton } from '../ui/Button'
import { cx } from '../ui/cx'
import { type Theme, useTheme } from '../ui/theme'
import { t } from '../words/words'

const THEMES = [
  { theme: 'system', label: t('As the system'), icon: Monitor },
  { theme: 'light', label: t('Light'), icon: Sun },
  { theme: 'dark', label: t('Dark'), icon: Moon },
] as const satisfies readonly { theme: Theme; label: string; icon: typeof Sun }[]

/** The same choice where there is room for one button: each press is the next theme. */
export function ThemeButton() {
  const [theme, setTheme] = useTheme()
  const at = THEMES.findIndex((it) => it.theme === theme)
  const { icon: Icon, label } = THEMES[at] ?? THEMES[0]
  const next = THEMES[(at + 1) % THEMES.length] ?? THEMES[0]
  return (
    <IconButton
      label={t('Theme: {label}', { label })}
      className="md:self-center 2xl:hidden"
      onClick={() => setTheme(next.theme)}
    >
      <Icon aria-hidden />
    </IconButton>
  )
}

export function ThemeSwitch() {
  const [theme, setTheme] = useTheme()
  return (
    <fieldset className="inline-flex gap-0.5 rounded-lg bg-well p-0.5">
      <legend className="sr-only">{t('Theme')}</legend>
      {THEMES.map(({ theme: value, label, icon: Icon }) => (
        <button
          key={value}
          type="button"
          aria-label={label}
          title={label}
          aria-pressed={theme === value}
          onClick={() => setTheme(value)}
          className={cx(
            'grid size-7 place-items-center rounded-md transition-colors',
            theme === value ? 'bg-raised text-ink shadow-card' : 'text-faint hover:text-ink',
          )}
        >
          <Icon aria-hidden className="size-3.5" />
        </button>
      ))}
    </fieldset>
  )
}
