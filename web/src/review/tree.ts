/** Changed files as a tree: folders that hold nothing but one folder are one step. */

export interface Folder<T> {
  name: string
  folders: Folder<T>[]
  files: T[]
}

export function treeOf<T extends { path: string }>(files: readonly T[]): Folder<T> {
  const root: Folder<T> = { name: '', folders: [], files: [] }
  for (const file of files) {
    let here = root
    for (const name of file.path.split('/').slice(0, -1)) {
      let next = here.folders.find((it) => it.name === name)
      if (!next) {
        next = { name, folders: [], files: [] }
        here.folders.push(next)
      }
      here = next
    }
    here.files.push(file)
  }
  root.folders = root.folders.map(shorten)
  return root
}

function shorten<T>(folder: Folder<T>): Folder<T> {
  const [only, ...rest] = folder.folders
  if (only && rest.length === 0 && folder.files.length === 0)
    return shorten({ ...only, name: `${folder.name}/${only.name}` })
  return { ...folder, folders: folder.folders.map(shorten) }
}
