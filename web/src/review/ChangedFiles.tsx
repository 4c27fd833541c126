/** The changed files as a tree, to jump to. */
import { ChevronRight } from 'lucide-react'
import { useMemo, useState } from 'react'
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

function Inside({
  folder,
  depth,
  ...props
}: ChangedFilesProps & { folder: Folder<ReadFile>; depth: number }) {
  const { shown, isRead, scroller } = props
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
            onClick={() =>
              scroller.current
                ?.querySelector(`[data-file="${CSS.escape(file.path)}"]`)
                ?.scrollIntoView({ block: 'start' })
            }
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
