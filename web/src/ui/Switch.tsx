import { Switch as Radix } from 'radix-ui'
import { type ReactNode, useId } from 'react'

interface SwitchProps {
  isOn: boolean
  isDisabled?: boolean
  onChange(isOn: boolean): void
  children: ReactNode
}

export function Switch({ isOn, isDisabled = false, onChange, children }: SwitchProps) {
  const id = useId()
  return (
    <span className="inline-flex items-center gap-2.5">
      <Radix.Root
        id={id}
        checked={isOn}
        disabled={isDisabled}
        onCheckedChange={onChange}
        className="h-5 w-9 shrink-0 rounded-full bg-line-strong p-0.5 transition-colors disabled:opacity-50 data-[state=checked]:bg-lamp"
      >
        <Radix.Thumb className="block size-4 rounded-full bg-card shadow-card transition-transform duration-150 data-[state=checked]:translate-x-4" />
      </Radix.Root>
      <label htmlFor={id} className="cursor-pointer text-soft select-none">
        {children}
      </label>
    </span>
  )
}
