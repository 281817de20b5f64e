// What is offered while somebody types `@` or, at the very beginning, `/`.
import type { SkillMetadata } from '../protocol/codex.gen'
import { session } from '../state/session.svelte'

export type Suggestion = { key: string; label: string; hint: string; mono: boolean } & ({ kind: 'file'; path: string; root: string } | { kind: 'skill'; skill: SkillMetadata } | { kind: 'command'; run(): void })

export interface SlashCommand { name: string; hint: string; run(): void }

/** The word before the caret, where it asks for something. */
export function trigger(text: string, caret: number): { kind: 'file' | 'slash'; from: number; query: string } | null {
  const before = text.slice(0, caret)
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before)
  if (file) return { kind: 'file', from: caret - file[1]!.length - 1, query: file[1]! }
  const slash = /^\/([\w-]*)$/.exec(before)
  return slash ? { kind: 'slash', from: 0, query: slash[1]! } : null
}

export class Suggest {
  list = $state<Suggestion[]>([])
  at = $state(0)
  #wanted = 0
  #skills: SkillMetadata[] | null = null
  #skillsOf: string | null = null

  close(): void { this.#wanted += 1; this.list = [] }

  async look(found: ReturnType<typeof trigger>, cwd: string | null, commands: SlashCommand[]): Promise<void> {
    const turn = ++this.#wanted
    if (!found) { this.list = []; return }
    try {
      const list = found.kind === 'file' ? await this.#files(found.query, cwd) : await this.#slash(found.query, cwd, commands)
      if (turn === this.#wanted) { this.list = list; this.at = 0 }
    } catch {
      if (turn === this.#wanted) this.list = []
    }
  }

  move(by: number): void { this.at = (this.at + by + this.list.length) % Math.max(1, this.list.length) }

  async #files(query: string, cwd: string | null): Promise<Suggestion[]> {
    if (cwd === null || query === '') return []
    const { files } = await session.call('fuzzyFileSearch', { query, roots: [cwd], limit: 8 })
    return files.map(file => ({ key: file.path, kind: 'file' as const, label: file.path, hint: file.match_type === 'directory' ? 'folder' : '', mono: true, path: file.path, root: file.root }))
  }

  async skills(cwd: string | null): Promise<SkillMetadata[]> {
    if (cwd === null) return []
    if (this.#skills === null || this.#skillsOf !== cwd) {
      this.#skills = (await session.call('skills/list', { cwds: [cwd] })).data.flatMap(entry => entry.skills).filter(skill => skill.enabled)
      this.#skillsOf = cwd
    }
    return this.#skills
  }

  async #slash(query: string, cwd: string | null, commands: SlashCommand[]): Promise<Suggestion[]> {
    const fits = (name: string) => name.toLowerCase().startsWith(query.toLowerCase())
    const own = commands.filter(one => fits(one.name)).map(one => ({ key: `c:${one.name}`, kind: 'command' as const, label: `/${one.name}`, hint: one.hint, mono: false, run: one.run }))
    const skills = (await this.skills(cwd)).filter(skill => fits(skill.name)).map(skill => ({ key: `s:${skill.path}`, kind: 'skill' as const, label: `/${skill.name}`, hint: skill.shortDescription ?? skill.description, mono: false, skill }))
    return [...own, ...skills].slice(0, 10)
  }
}
