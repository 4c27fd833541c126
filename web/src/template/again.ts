/** How a template is asked for once more. */
import type { NewTemplate, TemplateView } from '../api/types'

/** What can be made from words alone. An archive was uploaded, and is not kept. */
const KINDS: readonly unknown[] = ['host', 'debian', 'image', 'recipe']

/** The wish that a template was made from; nothing where nobody made it, or where it cannot be said again. */
export function askedAgain(template: TemplateView): NewTemplate | undefined {
  const source = template.source as Partial<NewTemplate> | null | undefined
  if (template.created_by == null || !source || !KINDS.includes(source.from)) return undefined
  return { ...source, name: template.name, provider: template.provider } as NewTemplate
}
