// Pictures and texts that go along with a message.
import type { UserInput } from '../protocol/codex.gen'

export type Attachment = { id: number; name: string } & ({ kind: 'picture'; url: string } | { kind: 'text'; text: string })

export const PICTURES_MAX = 20
const PICTURE_BYTES_MAX = 12 * 1024 * 1024
const TEXT_BYTES_MAX = 256 * 1024
/** A pasted text longer than this becomes a chip. */
export const PASTE_MAX = 8 * 1024
const PICTURE_TYPES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
let next = 1

/** A sentence for the person where it cannot go along. */
export async function attach(file: File): Promise<Attachment | string> {
  const name = file.name || 'pasted picture'
  if (PICTURE_TYPES.has(file.type)) {
    if (file.size > PICTURE_BYTES_MAX) return `${name} is larger than 12 MiB.`
    return { id: next++, kind: 'picture', name, url: await dataUrl(file) }
  }
  if (file.type.startsWith('image/')) return `${name}: only PNG, JPEG, WebP and GIF pictures can be sent.`
  if (file.size > TEXT_BYTES_MAX) return `${name} is larger than 256 KiB. Name it with @ if it lies in the workspace.`
  const text = await file.text()
  if (text.includes('\u0000')) return `${name} is not a text. Name it with @ if it lies in the workspace.`
  return { id: next++, kind: 'text', name, text }
}

export function attachText(text: string): Attachment {
  return { id: next++, kind: 'text', name: 'pasted text', text }
}

export function inputOf(text: string, attachments: Attachment[], mentions: { path: string; name: string }[], skills: { name: string; path: string }[]): UserInput[] {
  const input: UserInput[] = []
  if (text !== '') input.push({ type: 'text', text })
  for (const one of attachments) input.push(one.kind === 'picture' ? { type: 'image', url: one.url } : { type: 'text', text: `${one.name}:\n\n${one.text}` })
  for (const { path, name } of mentions) input.push({ type: 'mention', path, name })
  for (const { path, name } of skills) input.push({ type: 'skill', path, name })
  return input
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('The file could not be read.'))
    reader.readAsDataURL(file)
  })
}
