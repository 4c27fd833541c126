/** Files with names of their own: everything that is pasted is called `image.png`. */
export function apart(files: readonly File[]): File[] {
  const taken = new Set<string>()
  return files.map((file) => {
    const dot = file.name.lastIndexOf('.')
    const [stem, ending] = dot > 0 ? [file.name.slice(0, dot), file.name.slice(dot)] : [file.name, '']
    let name = file.name
    for (let count = 2; taken.has(name); count += 1) name = `${stem}-${count}${ending}`
    taken.add(name)
    return name === file.name ? file : new File([file], name, { type: file.type })
  })
}
