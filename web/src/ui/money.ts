/** Money and counts for people. */

/** `$0.42`, `$12.30`, `$1,204`; less than a cent is said to be so. Nothing was spent: nothing is said. */
export function dollars(amount: number | null | undefined): string | undefined {
  if (amount === null || amount === undefined || amount <= 0) return undefined
  if (amount < 0.01) return '<$0.01'
  if (amount >= 1000) return `$${Math.round(amount).toLocaleString('en-US')}`
  return `$${amount.toFixed(2)}`
}

/** `1 commit`, `3 commits`. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? one : many}`
}

/** `812 B`, `14 kB`, `3.1 MB`. */
export function bytes(amount: number): string {
  if (amount < 1000) return `${amount} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = amount / 1000
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit += 1
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}
