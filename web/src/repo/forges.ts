/** Where pull requests live, by the names the house has for it. */
import { t } from '../words/words'

export const FORGES: Record<string, string> = {
  embedded: t('This house'),
  github: t('GitHub'),
  gitea: t('Gitea'),
}
