/** Scrolls a row sideways, and nothing else, until the one that was chosen in it is seen with a neighbour's edge. */
export function reveal(row: HTMLElement | null, chosen: string): void {
  const one = row?.querySelector<HTMLElement>(chosen)
  if (!row || !one) return
  const edge = 40
  const left = one.offsetLeft - row.offsetLeft
  if (left - edge < row.scrollLeft) row.scrollLeft = left - edge
  else if (left + one.offsetWidth + edge > row.scrollLeft + row.clientWidth)
    row.scrollLeft = left + one.offsetWidth + edge - row.clientWidth
}
