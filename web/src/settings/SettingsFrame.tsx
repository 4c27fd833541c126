/** The rooms of the settings, one beside the other. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { me } from '../api/queries'
import { SETTINGS } from '../frame/places'
import { reveal } from '../ui/reveal'
import { t } from '../words/words'

export function SettingsFrame({ children }: { children: ReactNode }) {
  const { data: bearer } = useQuery(me)
  const row = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the row is longer once it is known who looks
  useEffect(() => reveal(row.current, '[aria-current=page]'), [bearer])
  return (
    <>
      <nav
        ref={row}
        aria-label={t('Settings')}
        className="relative mb-6 flex gap-1 overflow-x-auto border-b border-line"
      >
        {SETTINGS.filter((it) => !it.isForAdmins || bearer?.role === 'admin').map((it) => (
          <Link
            key={it.to}
            to={it.to}
            className="-mb-px border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-soft hover:text-ink aria-[current=page]:border-lamp aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            {it.label}
          </Link>
        ))}
      </nav>
      {children}
    </>
  )
}
