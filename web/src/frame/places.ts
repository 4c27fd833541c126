/** Where one can go, in the order of the rail. `key` is pressed after `g`. */
import {
  Bot,
  Boxes,
  ChartNoAxesCombined,
  FolderGit2,
  LayoutGrid,
  MessagesSquare,
  Settings,
  SquareKanban,
} from 'lucide-react'

export const PLACES = [
  { to: '/', label: 'Board', icon: SquareKanban, key: 'b' },
  { to: '/sessions', label: 'Sessions', icon: MessagesSquare, key: 's' },
  { to: '/repos', label: 'Repos', icon: FolderGit2, key: 'r' },
  { to: '/agents', label: 'Agents', icon: Bot, key: 'a' },
  { to: '/templates', label: 'Templates', icon: Boxes, key: 't' },
  { to: '/sandboxes', label: 'Sandboxes', icon: LayoutGrid, key: 'x' },
  { to: '/dashboard', label: 'Dashboard', icon: ChartNoAxesCombined, key: 'd' },
  { to: '/settings', label: 'Settings', icon: Settings, key: ',' },
] as const

/** Settings has rooms of its own; being in one of them is being there. */
export const SETTINGS = [
  { to: '/settings', label: 'This browser', isForAdmins: false },
  { to: '/members', label: 'Members', isForAdmins: true },
  { to: '/keys', label: 'Keys', isForAdmins: true },
  { to: '/secrets', label: 'Secrets', isForAdmins: true },
  { to: '/audit', label: 'Audit', isForAdmins: true },
] as const
