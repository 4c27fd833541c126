/** Folders and what is in them, opened where they stand. Each is read when it is opened. */
import { useQuery } from '@tanstack/react-query'
import { ChevronRight, File, Folder, FolderOpen } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { say } from '../api/problem'
import type { FileEntry } from '../api/types'
import { cx } from '../ui/cx'
import { bytes } from '../ui/money'
import { Skeleton, Trouble } from '../ui/Small'
import { t } from '../words/words'
import { listFolder } from './files'

interface TreeProps {
  sandboxId: string
  folder: string
  /** Folders that are open. */
  opened: ReadonlySet<string>
  /** The file that is read, or the folder that new files go to. */
  current: string | undefined
  onFolder(path: string): void
  onFile(entry: FileEntry): void
}

export function FileTree(props: TreeProps) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrows go from one button to the next; each is reached by Tab too
    <div onKeyDown={walk}>
      <Level {...props} depth={0} />
    </div>
  )
}

function Level({ depth, ...props }: TreeProps & { depth: number }) {
  const { sandboxId, folder, opened, current, onFolder, onFile } = props
  const list = useQuery({
    queryKey: ['files', sandboxId, folder],
    queryFn: () => listFolder(sandboxId, folder),
    staleTime: 3_000,
  })
  const indent = { paddingLeft: `${0.5 + depth * 0.9}rem` }
  if (list.isPending) return <Skeleton className={depth === 0 ? 'm-3 h-24' : 'mx-3 my-1 h-5'} />
  if (list.isError)
    return (
      <div className="p-3">
        <Trouble title={t('The folder could not be read')} detail={say(list.error)} />
      </div>
    )
  if (list.data.length === 0)
    return (
      <p className="py-1 pr-3 text-small text-faint" style={{ paddingLeft: `${2.4 + depth * 0.9}rem` }}>
        {t('Nothing is in it.')}
      </p>
    )
  return (
    <ul aria-label={t('Content of {folder}', { folder })} className={cx(depth === 0 && 'py-1')}>
      {list.data.map((entry) => {
        const isFolder = entry.kind === 'directory'
        const isOpen = isFolder && opened.has(entry.path)
        const Icon = isOpen ? FolderOpen : isFolder ? Folder : File
        return (
          <li key={entry.path}>
            <button
              type="button"
              data-entry={entry.kind}
              aria-expanded={isFolder ? isOpen : undefined}
              aria-current={current === entry.path || undefined}
              onClick={() => (isFolder ? onFolder(entry.path) : onFile(entry))}
              style={indent}
              className="flex w-full items-center gap-1.5 py-1 pr-3 text-left -outline-offset-2 hover:bg-well aria-[current=true]:bg-well"
            >
              <ChevronRight
                aria-hidden
                className={cx(
                  'size-3.5 shrink-0 text-faint transition-transform',
                  isOpen && 'rotate-90',
                  !isFolder && 'invisible',
                )}
              />
              <Icon
                {...(isFolder ? { 'aria-label': t('Folder') } : { 'aria-hidden': true })}
                className={cx('size-4 shrink-0', isFolder ? 'text-brass' : 'text-faint')}
              />
              <bdi className="min-w-0 flex-1 truncate font-mono text-small" title={entry.name}>
                {entry.name}
              </bdi>
              {!isFolder && <span className="text-tiny text-faint">{bytes(entry.size)}</span>}
            </button>
            {isOpen && <Level {...props} folder={entry.path} depth={depth + 1} />}
          </li>
        )
      })}
    </ul>
  )
}

/** Up and down from name to name; right opens a folder, left closes it. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  const here = (event.target as HTMLElement).closest<HTMLElement>('[data-entry]')
  if (!here) return
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step) {
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-entry]')]
    all[all.indexOf(here) + step]?.focus()
    event.preventDefault()
  } else if (
    (event.key === 'ArrowRight' && here.getAttribute('aria-expanded') === 'false') ||
    (event.key === 'ArrowLeft' && here.getAttribute('aria-expanded') === 'true')
  ) {
    here.click()
    event.preventDefault()
  }
}
