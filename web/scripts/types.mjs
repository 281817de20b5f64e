// Makes src/protocol/codex.gen.ts from the published schema of the codex endpoint, so that no field name is written twice.
// `node scripts/types.mjs --write` writes it; without, it exits with 1 when the file is not current.
import { readFileSync, writeFileSync } from 'node:fs'

const schemaPath = new URL('../../schemas/codex.json', import.meta.url)
const outPath = new URL('../src/protocol/codex.gen.ts', import.meta.url)

const refName = ref => ref.slice('#/$defs/'.length)

function typeOf(schema) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema === false) return 'never'
  if (schema.$ref) return refName(schema.$ref)
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map(v => JSON.stringify(v)).join(' | ')
  const many = schema.anyOf ?? schema.oneOf
  if (many) return many.map(typeOf).map(t => (t.includes('=>') ? `(${t})` : t)).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({ ...schema, type })).join(' | ')
  switch (schema.type) {
    case 'string': return 'string'
    case 'integer': case 'number': return 'number'
    case 'boolean': return 'boolean'
    case 'null': return 'null'
    case 'array': return `Array<${typeOf(schema.items)}>`
    case 'object': return objectType(schema)
    default: return schema.properties ? objectType(schema) : 'unknown'
  }
}

function objectType(schema) {
  const required = new Set(schema.required ?? [])
  const fields = Object.entries(schema.properties ?? {})
    .filter(([, value]) => value !== false)
    .map(([name, value]) => `${JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${typeOf(value)}`)
  if (schema.additionalProperties && typeof schema.additionalProperties === 'object') fields.push(`[key: string]: ${typeOf(schema.additionalProperties)}`)
  if (fields.length === 0) return schema.properties ? '{}' : 'Record<string, unknown>'
  return `{ ${fields.join('; ')} }`
}

/** Definitions of both directions share names; where they differ, the client's one gets the prefix `Said`. */
function definitions(schema, rename) {
  return Object.entries(schema.$defs)
    .map(([name, value]) => `export type ${rename(name)} = ${typeOf(value)}`)
    .join('\n')
}

function generate() {
  const { client, server } = JSON.parse(readFileSync(schemaPath, 'utf8'))
  const serverText = definitions(server, name => name)
  const shared = new Set(Object.keys(server.$defs))
  const clash = name => (shared.has(name) && JSON.stringify(client.$defs[name]) !== JSON.stringify(server.$defs[name]) ? `Said${name}` : name)
  const renamed = JSON.parse(JSON.stringify(client).replaceAll(/"#\/\$defs\/(\w+)"/g, (_, name) => `"#/$defs/${clash(name)}"`))
  const own = { $defs: Object.fromEntries(Object.entries(renamed.$defs).filter(([name]) => !shared.has(name) || clash(name) !== name)) }
  const clientText = definitions(own, clash)
  const methodOf = frame => frame.properties?.method?.const
  const calls = renamed.anyOf.filter(methodOf).map(frame => {
    const method = methodOf(frame)
    const answer = server['x-answers'][method]
    return `  ${JSON.stringify(method)}: { params: ${typeOf(frame.properties.params)}; result: ${answer ? typeOf(answer) : 'unknown'} }`
  })
  const isRequest = frame => frame.properties.id !== false && frame.properties.id !== undefined
  const told = server.anyOf.filter(methodOf)
  const line = frame => `  ${JSON.stringify(methodOf(frame))}: ${typeOf(frame.properties.params)}`
  return [
    '// Made by scripts/types.mjs from schemas/codex.json. Do not edit.',
    serverText,
    clientText,
    `export interface Calls {\n${calls.join('\n')}\n}`,
    `export interface Notices {\n${told.filter(f => !isRequest(f)).map(line).join('\n')}\n}`,
    `export interface Requests {\n${told.filter(isRequest).map(line).join('\n')}\n}`,
    '',
  ].join('\n\n')
}

const text = generate()
if (process.argv.includes('--write')) writeFileSync(outPath, text)
else {
  let now = ''
  try { now = readFileSync(outPath, 'utf8') } catch { /* not there yet */ }
  if (now !== text) {
    console.error('src/protocol/codex.gen.ts is not current: node scripts/types.mjs --write')
    process.exit(1)
  }
}
