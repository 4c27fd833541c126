/** Carrel's mark: a desk with two walls and a lamp. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg aria-hidden="true" viewBox="0 0 32 32" className={className}>
      <rect width="32" height="32" rx="7" className="fill-[oklch(0.38_0.065_163)]" />
      <path
        d="M6.5 23.5V10.5M25.5 23.5V10.5M6.5 19h19"
        className="fill-none stroke-[oklch(0.96_0.02_90)]"
        strokeWidth="2.2"
        strokeLinecap="round"
      />
      <path d="M11.2 12.6a4.8 4.8 0 0 1 9.6 0z" className="fill-[oklch(0.78_0.12_82)]" />
      <path d="M16 12.6V19" className="stroke-[oklch(0.78_0.12_82)]" strokeWidth="1.8" />
    </svg>
  )
}
