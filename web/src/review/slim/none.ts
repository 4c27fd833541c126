/** Stands in for parts of the highlighter that this page never asks for: web assembly, and a second highlighter. */
const none = undefined
export default none
export const codeToTokens = none
export const isSupportedLanguage = () => false
export class LiveTokenizer {}
export const createOnigurumaEngine = none
export const shikiThemes = []
