/**
 * Writes src/api/schema.d.ts from openapi.json; with --check, only says whether it is already so.
 *
 * We call the API by path and never by the name of an operation, so those names are left out. That also keeps the types right while
 * several nouns call an operation `list`.
 */
import { readFile, writeFile } from 'node:fs/promises'
import openapiTS, { astToString } from 'openapi-typescript'

const TARGET = 'src/api/schema.d.ts'
const HEAD = '/** Written by `npm run types` from openapi.json. Do not edit. */\n\n'

const api = JSON.parse(await readFile('openapi.json', 'utf8'))
for (const path of Object.values(api.paths)) {
  for (const operation of Object.values(path)) delete operation.operationId
}

// A field with a default may be left out of what we send.
const fresh = HEAD + astToString(await openapiTS(api, { defaultNonNullable: false }))

if (!process.argv.includes('--check')) {
  await writeFile(TARGET, fresh)
} else if (fresh !== (await readFile(TARGET, 'utf8').catch(() => ''))) {
  console.error(`${TARGET} is not what openapi.json says. Mend it with: npm run types`)
  process.exit(1)
}
