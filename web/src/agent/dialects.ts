/** Dialects by their names, and what each is. */
export const DIALECTS: Record<string, string> = {
  shell: 'A shell command: the prompt is in CARREL_PROMPT',
  demo: 'A script that plays an agent',
  claude: 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  opencode: 'opencode',
  acp: 'Any agent that speaks the Agent Client Protocol',
}
