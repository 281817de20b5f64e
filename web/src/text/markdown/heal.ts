// The end of a text that still grows: marks that are open are closed, so that half a link or half a bold word does not flicker.

/** Closes what is open in the last line. Code is left alone: a fence that is open is code to its end anyway. */
export function heal(source: string): string {
  const fences = source.match(/^ {0,3}(?:`{3,}|~{3,})/gm)?.length ?? 0
  if (fences % 2 === 1) return source
  const lineStart = source.lastIndexOf('\n') + 1
  let line = source.slice(lineStart)
  if ((line.match(/`/g)?.length ?? 0) % 2 === 1) return source + '`'
  const link = /!?\[[^\]]*(?:\]\([^)]*)?$/.exec(line)
  if (link) {
    const words = /^!?\[([^\]]*)/.exec(link[0])![1]!
    line = line.slice(0, link.index) + words
  }
  // A lone mark at the very end is the beginning of one: not shown until it is known which.
  line = line.replace(/(?<=\s|^)[*_~]{1,3}$/, '')
  for (const mark of ['**', '__', '~~']) {
    const count = line.split(mark).length - 1
    if (count % 2 === 1) line += mark
  }
  return source.slice(0, lineStart) + line
}
