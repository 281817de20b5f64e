// Colours for code: comments, strings, numbers, keywords, types, calls and constants, for families of languages. Loaded when the first block closes.
// It reads a text once, from left to right, and never backtracks over a line; what it does not know stays plain.

export interface Token { text: string; kind: '' | 'k' | 'f' | 't' | 's' | 'n' | 'c' | 'x' }

interface Family { comment: RegExp; string: RegExp; keywords: Set<string>; constants: Set<string>; caseless?: boolean }

const words = (text: string) => new Set(text.split(' '))
const STRING = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?/y
const STRING_AND_TEMPLATE = /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\.)*`?/y
const RUST_STRING = /b?r?#*"(?:[^"\\]|\\.)*"#*|'(?:[^'\\\n]|\\[^\n]{1,8})'/y
const SLASH = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y
const HASH = /#[^\n]*/y
const constants = words('true false null None True False nil undefined self this super Self NaN')

const js: Family = { comment: SLASH, string: STRING_AND_TEMPLATE, constants, keywords: words('abstract as async await break case catch class const continue declare default delete do else enum export extends finally for from function get if implements import in instanceof interface keyof let namespace new of private protected public readonly return satisfies set static switch throw try type typeof var void while yield') }
const rust: Family = { comment: SLASH, string: RUST_STRING, constants, keywords: words('as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return static struct trait type unsafe use where while') }
const c: Family = { comment: SLASH, string: STRING_AND_TEMPLATE, constants, keywords: words('abstract alignas auto bool break byte case catch char class const constexpr continue data def default defer delete do double else enum explicit export extends extern fallthrough final finally float for foreach func fun friend go goto if implements import inline int interface internal is let long map namespace new object operator override package private protected public range readonly return sealed select short signed sizeof static string struct switch template throw throws try typedef typename union unsigned using val var virtual void volatile when where while yield') }
const python: Family = { comment: HASH, string: /[rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)/y, constants, keywords: words('and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield begin do end ensure module next rescue then unless until require') }
const shell: Family = { comment: /(?<=^|\s)#[^\n]*/y, string: STRING, constants: words('true false'), keywords: words('if then else elif fi for while until do done case esac in function return exit export local readonly set unset shift source sudo cd echo') }
const sql: Family = { comment: /--[^\n]*|\/\*[^]*?(?:\*\/|$)/y, string: /'(?:[^']|'')*'?/y, constants: words('true false null'), caseless: true, keywords: words('add all alter and as asc between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not offset on or order outer primary references replace returning right rollback select set table then transaction union unique update using values view when where with') }
const data: Family = { comment: /#[^\n]*|\/\/[^\n]*/y, string: STRING, constants: words('true false null yes no'), keywords: new Set() }
const css: Family = { comment: /\/\*[^]*?(?:\*\/|$)/y, string: STRING, constants: new Set(), keywords: words('import media supports container keyframes layer font-face') }
const lua: Family = { comment: /--[^\n]*/y, string: STRING, constants, keywords: words('and break case class data deriving do else elseif end for function goto if import in instance let local module newtype not of or repeat return then type until where while') }

const families: Record<string, Family> = {}
for (const [family, names] of [
  [js, 'js jsx ts tsx javascript typescript mjs cjs svelte vue'], [rust, 'rust rs'], [c, 'c h cpp c++ cc hpp java kotlin kt swift go golang csharp cs scala php dart zig proto glsl'],
  [python, 'python py ruby rb elixir ex nim'], [shell, 'sh bash zsh shell console fish dockerfile make makefile'], [sql, 'sql sqlite postgres mysql'],
  [data, 'json jsonc yaml yml toml ini conf env'], [css, 'css scss less'], [lua, 'lua haskell hs'],
] as [Family, string][]) for (const name of names.split(' ')) families[name] = family

const WORD = /[A-Za-z_$][\w$-]*/y
const NUMBER = /(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)[a-z%]*\d*/y
const PLAIN = /\s+|[^\sA-Za-z_$\d]/y

/** Null where the language is not known. */
export function highlight(text: string, language: string): Token[] | null {
  const family = families[language.toLowerCase()]
  if (!family) return null
  const tokens: Token[] = []
  const push = (piece: string, kind: Token['kind']) => {
    const last = tokens.at(-1)
    if (last && last.kind === kind) last.text += piece
    else tokens.push({ text: piece, kind })
  }
  const at = (pattern: RegExp, index: number) => { pattern.lastIndex = index; return pattern.exec(text)?.[0] }
  for (let i = 0; i < text.length;) {
    let piece = at(family.comment, i)
    if (piece) { push(piece, 'c'); i += piece.length; continue }
    piece = at(family.string, i)
    if (piece) { push(piece, family === data && /^\s*:/.test(text.slice(i + piece.length, i + piece.length + 3)) ? 'f' : 's'); i += piece.length; continue }
    piece = at(WORD, i)
    if (piece) {
      if (family !== css && family !== data && piece.includes('-')) piece = piece.slice(0, piece.indexOf('-')) || piece
      push(piece, wordKind(piece, text, i, family)); i += piece.length; continue
    }
    piece = at(NUMBER, i)
    if (piece) { push(piece, 'n'); i += piece.length; continue }
    piece = at(PLAIN, i) ?? text[i]!
    push(piece, ''); i += piece.length
  }
  return tokens
}

function wordKind(word: string, text: string, i: number, family: Family): Token['kind'] {
  const name = family.caseless ? word.toLowerCase() : word
  if (family.constants.has(name)) return 'x'
  if (family.keywords.has(name)) return 'k'
  const next = text[i + word.length]
  if (family === data || family === css) return next === ':' || next === '=' || /^\s*[=:]/.test(text.slice(i + word.length, i + word.length + 2)) ? 'f' : ''
  if (/^[A-Z][A-Z\d_]{2,}$/.test(word)) return 'x'
  if (/^[A-Z]/.test(word)) return 't'
  return next === '(' || next === '!' ? 'f' : ''
}
