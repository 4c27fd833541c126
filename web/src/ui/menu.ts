/** How menus look. Radix does the rest, so a menu is written where it is used. */
export const menuLook = 'z-50 min-w-44 animate-rise rounded-xl border border-line bg-card p-1.5 shadow-float'
export const menuItem =
  'flex cursor-pointer items-center gap-2 rounded-lg px-2.5 py-1.5 outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-well'
