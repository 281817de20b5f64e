// A thread as Markdown, for people to keep.
import type { Thread, ThreadItem } from '../protocol/codex.gen'
import { bareCommand } from '../words/format'

export function markdownOf(thread: Thread): string {
  const turns = thread.turns.map(turn => turn.items.map(itemText).filter(Boolean).join('\n\n'))
  return `# ${thread.name ?? 'Thread'}\n\n*${thread.cwd} · ${thread.model} · ${new Date(thread.createdAt * 1000).toISOString()}*\n\n${turns.join('\n\n---\n\n')}\n`
}

function itemText(item: ThreadItem): string {
  switch (item.type) {
    case 'userMessage': return `**You:**\n\n${item.content.map(part => (part.type === 'text' ? part.text : '*(a picture)*')).join('\n\n')}`
    case 'agentMessage': return item.text
    case 'plan': return `**Plan**\n\n${item.text}`
    case 'reasoning': return [...item.content, ...item.summary].filter(Boolean).map(part => part.replace(/^/gm, '> ')).join('\n>\n')
    case 'commandExecution': return `${fence(`$ ${bareCommand(item.command)}\n${item.aggregatedOutput ?? ''}`, 'console')}${item.exitCode ? `\n\n*exit ${item.exitCode}*` : ''}`
    case 'fileChange': return item.changes.map(change => `\`${change.path}\`\n\n${fence(change.diff, 'diff')}`).join('\n\n')
    case 'mcpToolCall': return `*${item.server}.${item.tool}* ${fence(JSON.stringify(item.arguments), 'json')}`
    case 'dynamicToolCall': return `*${item.tool}* \`${JSON.stringify(item.arguments)}\``
    case 'webSearch': return `*Looked up:* ${item.query}`
    case 'imageView': return `*Looked at:* ${item.path}`
    case 'collabAgentToolCall': return `*Sub-agent:* ${item.prompt ?? ''}`
    case 'contextCompaction': return '*Context compacted*'
    case 'enteredReviewMode': return `*Review: ${item.review}*`
    case 'exitedReviewMode': return '*Review ended*'
  }
}

/** A fence longer than any inside. */
function fence(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(match => match[0].length))
  const marks = '`'.repeat(longest + 1)
  return `${marks}${language}\n${text.replace(/\n$/, '')}\n${marks}`
}
