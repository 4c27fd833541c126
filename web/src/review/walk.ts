/** From file to file by keyboard. */

/** The place of the file to go to: from the one that has the focus and can be seen, else from the first that can be seen. */
export function nextFile(
  files: readonly { top: number; bottom: number; isHeld: boolean }[],
  view: { top: number; bottom: number },
  step: 1 | -1,
): number {
  const isSeen = (file: { top: number; bottom: number }) =>
    file.bottom > view.top + 8 && file.top < view.bottom
  const held = files.findIndex((file) => file.isHeld && isSeen(file))
  const seen = files.findIndex(isSeen)
  const next = held >= 0 ? held + step : step > 0 ? seen : seen - 1
  return Math.min(Math.max(next, 0), files.length - 1)
}

/** Goes there, and holds the file by its heading. */
export function goToFile(list: HTMLElement, step: 1 | -1): void {
  const files = [...list.querySelectorAll<HTMLElement>(':scope > [data-file]')]
  const places = files.map((file) => {
    const { top, bottom } = file.getBoundingClientRect()
    return { top, bottom, isHeld: file.contains(document.activeElement) }
  })
  const file = files[nextFile(places, list.getBoundingClientRect(), step)]
  file?.scrollIntoView({ block: 'start' })
  file?.querySelector('button')?.focus({ preventScroll: true })
}
