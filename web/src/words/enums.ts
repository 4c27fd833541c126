/** Words of the API that people see as they are: phases, roles, outcomes. What is not listed is shown as it came. */
import { t } from './words'

const WORDS: Readonly<Record<string, string>> = {
  requested: t('requested'),
  preparing: t('preparing'),
  ready: t('ready'),
  paused: t('paused'),
  closing: t('closing'),
  gone: t('gone'),
  failed: t('failed'),
  running: t('running'),
  starting: t('starting'),
  stopped: t('stopped'),
  error: t('error'),
  open: t('open'),
  idle: t('idle'),
  closed: t('closed'),
  checking: t('checking'),
  mergeable: t('mergeable'),
  conflicted: t('conflicted'),
  merged: t('merged'),
  building: t('building'),
  syncing: t('syncing'),
  admin: t('admin'),
  member: t('member'),
  agent: t('agent'),
  sandbox: t('sandbox'),
  done: t('done'),
  denied: t('denied'),
  added: t('added'),
  removed: t('removed'),
  renamed: t('renamed'),
  changed: t('changed'),
}

export const worded = (value: string): string => WORDS[value] ?? value
