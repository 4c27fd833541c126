/** Tabs over parts of a page. Each part is made when first looked at. */
import { Tabs } from 'radix-ui'
import { type ReactNode, Suspense, useEffect, useRef } from 'react'
import { cx } from './cx'
import { reveal } from './reveal'
import { Skeleton } from './Small'

export interface Part<Name extends string> {
  name: Name
  word: string
  panel: ReactNode
  /** It lies on the page itself, and is as long as it is. */
  isOpen?: boolean
}

interface PartsProps<Name extends string> {
  label: string
  parts: readonly Part<Name>[]
  value: Name
  onChange(name: Name): void
  /** Each part has a frame of its own height, on pages that scroll; otherwise it fills what is there. */
  isFramed?: boolean
  /** What stands at the end of the row. */
  corner?: ReactNode
}

export function Parts<Name extends string>({
  label,
  parts,
  value,
  onChange,
  isFramed = false,
  corner,
}: PartsProps<Name>) {
  const row = useRef<HTMLDivElement>(null)
  // On a phone the row is longer than the screen: the tab that is open must be seen.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another value is another tab
  useEffect(() => reveal(row.current, '[data-state=active]'), [value])
  return (
    <Tabs.Root
      value={value}
      onValueChange={(name) => onChange(name as Name)}
      className={isFramed ? undefined : 'flex min-h-0 flex-1 flex-col'}
    >
      <div
        className={cx('flex shrink-0 items-center border-b border-line', isFramed ? 'mb-4' : 'bg-paper px-3')}
      >
        <Tabs.List
          ref={row}
          aria-label={label}
          className="flex min-w-0 flex-1 gap-1 overflow-x-auto [scrollbar-width:none]"
        >
          {parts.map((part) => (
            <Tabs.Trigger
              key={part.name}
              value={part.name}
              className="-mb-px h-10 border-b-2 border-transparent px-2.5 whitespace-nowrap text-soft -outline-offset-2 hover:text-ink data-[state=active]:border-lamp data-[state=active]:font-medium data-[state=active]:text-ink"
            >
              {part.word}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {corner && <div className="shrink-0 pl-2 max-lg:hidden">{corner}</div>}
      </div>
      {parts.map((part) => (
        <Tabs.Content
          key={part.name}
          value={part.name}
          className={cx(
            'outline-none data-[state=inactive]:hidden',
            part.isOpen
              ? 'space-y-5'
              : isFramed
                ? 'flex h-[max(24rem,calc(100dvh-21rem))] flex-col overflow-hidden rounded-2xl border border-line bg-card shadow-card'
                : 'flex min-h-0 flex-1 flex-col',
          )}
        >
          <Suspense fallback={<Skeleton className="m-4 h-40" />}>{part.panel}</Suspense>
        </Tabs.Content>
      ))}
    </Tabs.Root>
  )
}
