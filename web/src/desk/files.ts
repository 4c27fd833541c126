/** Files of a sandbox, over the API. */
import { call, callJson } from '../api/call'
import type { FileEntry } from '../api/types'

const at = (id: string, path: string) =>
  `/api/v1/sandboxes/${encodeURIComponent(id)}/files?path=${encodeURIComponent(path)}`

export async function listFolder(id: string, path: string): Promise<FileEntry[]> {
  const page = await callJson<{ items: FileEntry[] }>(
    `/api/v1/sandboxes/${encodeURIComponent(id)}/files/list?path=${encodeURIComponent(path)}`,
  )
  return page.items.sort(
    (a, b) => Number(b.kind === 'directory') - Number(a.kind === 'directory') || a.name.localeCompare(b.name),
  )
}

/** Past this many bytes a file is downloaded, not shown. */
export const MOST_SHOWN = 512 * 1024

/** A file's text; nothing when it is no text. */
export async function readText(id: string, path: string): Promise<string | undefined> {
  const bytes = new Uint8Array(await (await call(at(id, path))).arrayBuffer())
  if (bytes.subarray(0, 8000).includes(0)) return undefined
  return new TextDecoder().decode(bytes)
}

export async function write(id: string, path: string, content: Blob): Promise<void> {
  await call(at(id, path), {
    method: 'PUT',
    body: content,
    headers: { 'content-type': 'application/octet-stream' },
  })
}

export async function remove(id: string, path: string): Promise<void> {
  await call(at(id, path), { method: 'DELETE' })
}

export const downloadAddress = at

export const join = (folder: string, name: string) => `${folder.replace(/\/$/, '')}/${name}`
export const parent = (path: string) => path.replace(/\/[^/]*\/?$/, '') || '/'
