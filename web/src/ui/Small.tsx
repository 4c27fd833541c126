/** The smallest parts. */
import type { ReactNode } from 'react'
import { cx } from './cx'

/** A word in a box, for facts that are one word long. */
export function Chip({
  children,
  tone = 'plain',
  title,
}: {
  children: ReactNode
  tone?: 'plain' | 'lamp' | 'brass' | 'bad'
  title?: string
}) {
  const tones = {
    plain: 'bg-well text-soft',
    lamp: 'bg-lamp-wash text-lamp',
    brass: 'bg-brass-wash text-brass',
    bad: 'bg-oxblood-wash text-oxblood',
  }
  return (
    <span
      title={title}
      className={cx(
        'inline-flex items-center rounded-md px-1.5 font-sans text-small leading-5 font-normal tracking-normal whitespace-nowrap',
        tones[tone],
      )}
    >
      {children}
    </span>
  )
}

export function Kbd({ children }: { children: ReactNode }) {
  return (
    <kbd className="inline-grid h-5 min-w-5 place-items-center rounded border border-line border-b-2 bg-card px-1 font-mono text-tiny text-soft">
      {children}
    </kbd>
  )
}

/** A command to type, ready to copy with the eye. */
export function Command({ children }: { children: string }) {
  return (
    <code className="block overflow-x-auto rounded-lg border border-line bg-card px-3.5 py-2 text-left font-mono text-small whitespace-pre text-ink shadow-card">
      <span aria-hidden className="mr-2 text-faint select-none">
        $
      </span>
      {children}
    </code>
  )
}

/** Some facts of a page, under a name of their own. */
export function Box({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="rounded-2xl border border-line bg-card px-5 py-4 shadow-card">
      <h2 className="mb-2 text-lead">{title}</h2>
      {children}
    </section>
  )
}

/** Something will stand here in a moment. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cx('block animate-breathe rounded-md bg-well', className)} />
}

/** Nothing is here, and that is worth a word. */
export function Empty({ title, children, art }: { title: string; children?: ReactNode; art?: ReactNode }) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center px-4 py-16 text-center">
      {art}
      <h2 className="text-title">{title}</h2>
      <div className="mt-1.5 flex flex-col gap-4 text-soft">{children}</div>
    </div>
  )
}

/** Something went wrong where something should stand. */
export function Trouble({
  title,
  detail,
  children,
}: {
  title: string
  detail: ReactNode
  children?: ReactNode
}) {
  return (
    <div role="alert" className="rounded-xl border border-oxblood/40 bg-oxblood-wash px-4 py-3">
      <p className="font-medium text-oxblood">{title}</p>
      <p className="text-small text-ink wrap-anywhere">{detail}</p>
      {children && <div className="mt-3">{children}</div>}
    </div>
  )
}

/** The head of a page: its name, a line about it, and what can be done. */
export function PageHead({
  title,
  lead,
  children,
}: {
  title: ReactNode
  lead?: ReactNode
  children?: ReactNode
}) {
  return (
    <header className="mb-5 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <h1 className="text-display wrap-anywhere">{title}</h1>
        {lead && <p className="mt-1 text-soft">{lead}</p>}
      </div>
      {children && <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </header>
  )
}
