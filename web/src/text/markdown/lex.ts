// Text -> tokens. Markup of HTML is text here: what a model writes is never put into the page as elements of its choosing.
import { Lexer, type Token } from 'marked'

export function lex(source: string): Token[] {
  return new Lexer({ gfm: true }).lex(source)
}
