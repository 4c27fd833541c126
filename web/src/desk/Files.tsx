/** The files at the desk: look, read, change, bring, take away. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ArrowUp, Download, Trash2, Upload } from 'lucide-react'
import { type DragEvent, useRef, useState } from 'react'
import { say } from '../api/problem'
import type { FileEntry } from '../api/types'
import { Button, IconButton } from '../ui/Button'
import { Confirm } from '../ui/Confirm'
import { cx } from '../ui/cx'
import { bytes } from '../ui/money'
import { Empty, Skeleton, Trouble } from '../ui/Small'
import { toast } from '../ui/Toast'
import { t } from '../words/words'
import { FileTree } from './FileTree'
import { downloadAddress, join, MOST_SHOWN, parent, readText, remove, write } from './files'

export function Files({ sandboxId, home = '/' }: { sandboxId: string; home?: string | undefined }) {
  const cache = useQueryClient()
  /** Where the tree begins. */
  const [root, setRoot] = useState(home)
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  /** Where new files go: the folder that was touched last. */
  const [folder, setFolder] = useState(home)
  const [open, setOpen] = useState<FileEntry>()
  const [isOver, setOver] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const refresh = () => void cache.invalidateQueries({ queryKey: ['files', sandboxId] })

  const upload = useMutation({
    mutationFn: async (files: File[]) => {
      for (const file of files) await write(sandboxId, join(folder, file.name), file)
      return files.length
    },
    onSuccess: (count) =>
      toast(count === 1 ? t('The file is there') : t('{count} files are there', { count })),
    onError: (error) => toast(t('Not everything was uploaded'), say(error), 'bad'),
    onSettled: refresh,
  })
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    const files = [...event.dataTransfer.files]
    if (files.length > 0) upload.mutate(files)
  }

  return (
    <section
      aria-label={t('Files')}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={cx('flex min-h-0 flex-1 flex-col', isOver && 'bg-lamp-wash')}
    >
      <header className="flex h-11 shrink-0 items-center gap-1 border-b border-line px-2">
        <IconButton
          label={t('The folder above')}
          disabled={root === '/'}
          onClick={() => {
            setOpened((now) => new Set(now).add(root))
            setRoot(parent(root))
            setFolder(parent(root))
          }}
        >
          <ArrowUp />
        </IconButton>
        <p className="min-w-0 flex-1 truncate font-mono text-small" title={folder}>
          {folder}
        </p>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={t('Files to upload')}
          onChange={(event) => {
            const files = [...(event.target.files ?? [])]
            event.target.value = ''
            if (files.length > 0) upload.mutate(files)
          }}
        />
        <Button
          tone="quiet"
          icon={<Upload />}
          isBusy={upload.isPending}
          onClick={() => picker.current?.click()}
        >
          {t('Upload')}
        </Button>
      </header>
      <div className="grid min-h-0 flex-1 grid-rows-[minmax(8rem,2fr)_3fr] sm:grid-cols-[minmax(12rem,1fr)_2fr] sm:grid-rows-1">
        <div className="min-h-0 overflow-y-auto border-line max-sm:border-b sm:border-r">
          <FileTree
            sandboxId={sandboxId}
            folder={root}
            opened={opened}
            current={open?.path ?? (folder === root ? undefined : folder)}
            onFile={(entry) => {
              setOpen(entry)
              setFolder(parent(entry.path))
            }}
            onFolder={(path) => {
              const isOpen = opened.has(path)
              setFolder(isOpen ? parent(path) : path)
              setOpened((now) => {
                const next = new Set(now)
                if (isOpen) next.delete(path)
                else next.add(path)
                return next
              })
            }}
          />
        </div>
        {open ? (
          <OpenFile
            key={open.path}
            sandboxId={sandboxId}
            entry={open}
            onGone={() => {
              setOpen(undefined)
              refresh()
            }}
          />
        ) : (
          <Empty title={t('Files')}>
            <p>{t('Choose one to read and change it. Drop files here to bring them to this desk.')}</p>
          </Empty>
        )}
      </div>
    </section>
  )
}

function OpenFile({ sandboxId, entry, onGone }: { sandboxId: string; entry: FileEntry; onGone(): void }) {
  const cache = useQueryClient()
  const isLarge = entry.size > MOST_SHOWN
  const key = ['file', sandboxId, entry.path] as const
  const file = useQuery({
    queryKey: key,
    queryFn: async () => ({ text: await readText(sandboxId, entry.path) }),
    enabled: !isLarge,
    staleTime: 0,
    gcTime: 0,
  })
  const [edit, setEdit] = useState<string>()
  const save = useMutation({
    mutationFn: (text: string) => write(sandboxId, entry.path, new Blob([text])),
    onSuccess: (_, text) => {
      cache.setQueryData(key, { text })
      setEdit(undefined)
    },
    onError: (error) => toast(t('The file was not written'), say(error), 'bad'),
  })
  const drop = useMutation({
    mutationFn: () => remove(sandboxId, entry.path),
    onSuccess: onGone,
    onError: (error) => toast(t('The file was not removed'), say(error), 'bad'),
  })
  const text = file.data?.text
  const isChanged = edit !== undefined && edit !== text
  return (
    <div className="flex min-h-0 min-w-0 flex-col">
      <header className="flex h-10 shrink-0 items-center gap-1 border-b border-line px-3">
        <span className="min-w-0 flex-1 truncate font-mono text-small">
          {entry.name}
          {isChanged && <span className="text-brass"> {t('· changed')}</span>}
        </span>
        {isChanged && (
          <Button tone="primary" isSmall isBusy={save.isPending} onClick={() => save.mutate(edit)}>
            {t('Save')}
          </Button>
        )}
        <a
          href={downloadAddress(sandboxId, entry.path)}
          download={entry.name}
          aria-label={t('Download {name}', { name: entry.name })}
          title={t('Download')}
          className="inline-grid size-8 place-items-center rounded-lg text-faint hover:bg-well hover:text-ink"
        >
          <Download aria-hidden className="size-4" />
        </a>
        <Confirm
          title={t('Remove {name}?', { name: entry.name })}
          detail={t('It is gone from this desk at once.')}
          act={t('Remove')}
          onConfirm={() => drop.mutate()}
        >
          <IconButton label={t('Remove {name}', { name: entry.name })}>
            <Trash2 />
          </IconButton>
        </Confirm>
      </header>
      {isLarge ? (
        <Empty title={t('A large file')}>
          <p>{t('{size}: download it to read it.', { size: bytes(entry.size) })}</p>
        </Empty>
      ) : file.isPending ? (
        <Skeleton className="m-3 h-24" />
      ) : file.isError ? (
        <div className="p-3">
          <Trouble title={t('The file could not be read')} detail={say(file.error)} />
        </div>
      ) : text === undefined ? (
        <Empty title={t('No text')}>
          <p>{t('Download it to see what it is.')}</p>
        </Empty>
      ) : (
        <textarea
          aria-label={t('Content of {name}', { name: entry.name })}
          spellCheck={false}
          value={edit ?? text}
          onChange={(event) => setEdit(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 's' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault()
              if (isChanged) save.mutate(edit)
            }
          }}
          className="min-h-0 flex-1 resize-none bg-card p-3 font-mono text-small leading-5 -outline-offset-2"
        />
      )}
    </div>
  )
}
