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
import { t } from '../words/words'

export const PLACES = [
  { to: '/', label: t('Board'), icon: SquareKanban, key: 'b' },
  { to: '/sessions', label: t('Sessions'), icon: MessagesSquare, key: 's' },
  { to: '/repos', label: t('Repos'), icon: FolderGit2, key: 'r' },
  { to: '/agents', label: t('Agents'), icon: Bot, key: 'a' },
  { to: '/templates', label: t('Templates'), icon: Boxes, key: 't' },
  { to: '/sandboxes', label: t('Sandboxes'), icon: LayoutGrid, key: 'x' },
  { to: '/dashboard', label: t('Dashboard'), icon: ChartNoAxesCombined, key: 'd' },
  { to: '/settings', label: t('Settings'), icon: Settings, key: ',' },
] as const

/** Settings has rooms of its own; being in one of them is being there. */
export const SETTINGS = [
  { to: '/settings', label: t('This browser'), isForAdmins: false },
  { to: '/members', label: t('Members'), isForAdmins: true },
  { to: '/keys', label: t('Keys'), isForAdmins: true },
  { to: '/secrets', label: t('Secrets'), isForAdmins: true },
  { to: '/audit', label: t('Audit'), isForAdmins: true },
] as const
