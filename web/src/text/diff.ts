// Unified diffs, as files, hunks and lines; with the words that differ where one line stands for another.

export interface DiffLine { kind: 'same' | 'add' | 'del'; old: number | null; new: number | null; text: string; /** Begin and end of what differs. */ mark: [number, number] | null }
export interface Hunk { header: string; lines: DiffLine[] }
export interface FileDiff { path: string; kind: 'add' | 'delete' | 'update'; hunks: Hunk[]; added: number; removed: number; binary: boolean }

/** One file's diff, as a fileChange item has it; for a new or a deleted file it may be the bare content. */
export function fileDiff(path: string, kind: FileDiff['kind'], diff: string): FileDiff {
  if (kind !== 'update' && !/^@@ /m.test(diff)) return wholeFile(path, kind, diff)
  return { ...finish(path, kind, hunksOf(diff.split('\n'))), binary: /^Binary files/m.test(diff) }
}

function wholeFile(path: string, kind: FileDiff['kind'], content: string): FileDiff {
  const texts = content === '' ? [] : content.replace(/\n$/, '').split('\n')
  const add = kind === 'add'
  const lines = texts.map((text, i): DiffLine => ({ kind: add ? 'add' : 'del', old: add ? null : i + 1, new: add ? i + 1 : null, text, mark: null }))
  return { ...finish(path, kind, lines.length === 0 ? [] : [{ header: '', lines }]), binary: false }
}

/** Several files, as `git diff` prints them. */
export function filesOf(diff: string): FileDiff[] {
  return diff.split(/^(?=diff --git )/m).filter(part => part.startsWith('diff --git ')).map(part => {
    const kind = /^new file mode/m.test(part) ? 'add' : /^deleted file mode/m.test(part) ? 'delete' : 'update'
    const path = (/^\+\+\+ b\/(.*)$/m.exec(part) ?? /^--- a\/(.*)$/m.exec(part) ?? /^diff --git a\/.* b\/(.*)$/m.exec(part))?.[1] ?? '?'
    return { ...finish(path.replace(/\t$/, ''), kind, hunksOf(part.split('\n'))), binary: /^Binary files|^GIT binary patch/m.test(part) }
  })
}

function hunksOf(lines: string[]): Hunk[] {
  const hunks: Hunk[] = []
  let hunk: Hunk | null = null
  let old = 0
  let fresh = 0
  for (const line of lines) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line)
    if (head) {
      old = Number(head[1])
      fresh = Number(head[2])
      hunks.push(hunk = { header: line, lines: [] })
    } else if (!hunk || line.startsWith('\\')) continue
    else if (line.startsWith('+')) hunk.lines.push({ kind: 'add', old: null, new: fresh++, text: line.slice(1), mark: null })
    else if (line.startsWith('-')) hunk.lines.push({ kind: 'del', old: old++, new: null, text: line.slice(1), mark: null })
    else if (line.startsWith(' ')) hunk.lines.push({ kind: 'same', old: old++, new: fresh++, text: line.slice(1), mark: null })
  }
  for (const one of hunks) markWords(one.lines)
  return hunks
}

/** A run of removed lines beside as many added ones: each is compared with its counterpart. */
function markWords(lines: DiffLine[]): void {
  for (let i = 0; i < lines.length;) {
    let dels = 0
    while (lines[i + dels]?.kind === 'del') dels++
    let adds = 0
    while (lines[i + dels + adds]?.kind === 'add') adds++
    if (dels > 0 && dels === adds) for (let k = 0; k < dels; k++) markPair(lines[i + k]!, lines[i + dels + k]!)
    i += Math.max(1, dels + adds)
  }
}

function markPair(del: DiffLine, add: DiffLine): void {
  const a = del.text
  const b = add.text
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  // Lines that have little in common are not marked: all of it differs.
  if ((head + tail) * 3 < Math.max(a.length, b.length)) return
  if (a.length - tail > head) del.mark = [head, a.length - tail]
  if (b.length - tail > head) add.mark = [head, b.length - tail]
}

function finish(path: string, kind: FileDiff['kind'], hunks: Hunk[]): Omit<FileDiff, 'binary'> {
  const count = (which: DiffLine['kind']) => hunks.reduce((sum, hunk) => sum + hunk.lines.filter(line => line.kind === which).length, 0)
  return { path, kind, hunks, added: count('add'), removed: count('del') }
}
