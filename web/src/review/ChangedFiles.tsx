/** The changed files as a tree, to jump to. */
import { ChevronDown, ChevronRight } from 'lucide-react'
import { Popover } from 'radix-ui'
import { type ReactNode, useMemo, useState } from 'react'
import { cx } from '../ui/cx'
import { t } from '../words/words'
import type { ReadFile } from './patch'
import { type Folder, treeOf } from './tree'

interface ChangedFilesProps {
  files: readonly ReadFile[]
  /** The paths that are on the page now. */
  shown: ReadonlySet<string>
  isRead(file: ReadFile): boolean
  scroller: React.RefObject<HTMLDivElement | null>
  onJump?: (() => void) | undefined
}

export function ChangedFiles(props: ChangedFilesProps) {
  const tree = useMemo(() => treeOf(props.files), [props.files])
  return (
    <nav
      aria-label={t('Changed files')}
      className="min-h-0 overflow-y-auto border-r border-line py-2 max-xl:hidden"
    >
      <Inside folder={tree} depth={0} {...props} />
    </nav>
  )
}

/** The same tree behind a button, where there is no room beside the lines. */
export function ChangedFilesMenu({ children, ...props }: ChangedFilesProps & { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const tree = useMemo(() => treeOf(props.files), [props.files])
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <button
          type="button"
          className="inline-flex items-center gap-1 rounded-md underline-offset-4 hover:underline xl:hidden"
        >
          {children}
          <ChevronDown aria-hidden className="size-3.5 text-faint" />
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={12}
          aria-label={t('Changed files')}
          // Where one jumps to keeps the sight.
          onCloseAutoFocus={(event) => event.preventDefault()}
          className="z-50 max-h-[60vh] w-80 max-w-[calc(100vw-1.5rem)] animate-rise overflow-y-auto rounded-xl border border-line bg-card py-2 shadow-float"
        >
          <nav aria-label={t('Changed files')}>
            <Inside folder={tree} depth={0} {...props} onJump={() => setOpen(false)} />
          </nav>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}

function Inside({
  folder,
  depth,
  ...props
}: ChangedFilesProps & { folder: Folder<ReadFile>; depth: number }) {
  const { shown, isRead, scroller, onJump } = props
  return (
    <ul>
      {folder.folders.map((it) => (
        <Branch key={it.name} folder={it} depth={depth} {...props} />
      ))}
      {folder.files.map((file) => (
        <li key={file.path}>
          <button
            type="button"
            disabled={!shown.has(file.path)}
            title={file.path}
            style={indent(depth)}
            onClick={() => {
              scroller.current
                ?.querySelector(`[data-file="${CSS.escape(file.path)}"]`)
                ?.scrollIntoView({ block: 'start' })
              onJump?.()
            }}
            className={cx(
              'flex w-full items-baseline gap-2 py-0.5 pr-3 text-left text-small -outline-offset-2 hover:bg-well',
              isRead(file) && 'text-faint',
            )}
          >
            <bdi className="min-w-0 flex-1 truncate font-medium">{file.path.split('/').at(-1)}</bdi>
            <span className="shrink-0 font-mono text-tiny">
              <span className="text-lamp">+{file.added}</span>{' '}
              <span className="text-oxblood">−{file.removed}</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  )
}

function Branch(props: ChangedFilesProps & { folder: Folder<ReadFile>; depth: number }) {
  const { folder, depth } = props
  const [isOpen, setOpen] = useState(true)
  return (
    <li>
      <button
        type="button"
        aria-expanded={isOpen}
        title={folder.name}
        style={indent(depth)}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full items-center gap-1 py-0.5 pr-3 text-left text-small text-soft -outline-offset-2 hover:bg-well"
      >
        <ChevronRight
          aria-hidden
          className={cx('-ml-1 size-3.5 shrink-0 text-faint transition-transform', isOpen && 'rotate-90')}
        />
        <bdi className="min-w-0 truncate">{folder.name}</bdi>
      </button>
      {isOpen && <Inside {...props} depth={depth + 1} />}
    </li>
  )
}

const indent = (depth: number) => ({ paddingLeft: `${0.75 + depth * 0.75}rem` })
