/** Dialects by their names, and what each is. */
import { t } from '../words/words'

export const DIALECTS: Record<string, string> = {
  shell: t('A shell command: the prompt is in CARREL_PROMPT'),
  demo: t('A script that plays an agent'),
  claude: t('Claude Code'),
  codex: t('Codex'),
  gemini: t('Gemini CLI'),
  opencode: t('opencode'),
  acp: t('Any agent that speaks the Agent Client Protocol'),
}
