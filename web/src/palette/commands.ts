// Every action once: its name, its keys, when it can be done. The palette and the sheet of keys read this.
import { composing } from '../composer/composing.svelte'
import { layout } from '../layout.svelte'
import { router } from '../router.svelte'
import type { Row } from '../state/model'
import { prefs } from '../state/prefs.svelte'
import { compact } from '../thread/actions'
import { rowMenu } from '../thread/menu'
import { stopping } from '../thread/stopping.svelte'
import { mod } from '../words/format'

export interface Command { name: string; keys: string; run(): void }

export function commandsFor(row: Row | undefined, running: boolean): Command[] {
  const here: Command[] = row ? [
    ...(running ? [{ name: 'Stop the turn', keys: 'Esc Esc', run: () => stopping.stop(row.id) }] : [{ name: 'Compact the context', keys: '', run: () => { void compact(row.id) } }]),
    ...rowMenu(row).map(item => ({ name: `${item.label} this thread`.replace('… this thread', ' this thread…').replace(/^(Save as \w+) this thread/, '$1').replace('Move to this thread…', 'Move this thread…'), keys: { Rename: 'e', Fork: 'F', Archive: '#', Pin: 'p' }[item.label] ?? '', run: item.run })),
    { name: 'Find in this thread', keys: `${mod}F`, run: () => { layout.find = true } },
    { name: 'Write a message', keys: '/', run: () => composing.focus() },
  ] : []
  const anywhere: Command[] = [
    { name: 'New thread', keys: 'c', run: () => router.go({ name: 'new', cwd: null }) },
    { name: 'What waits for you', keys: 'g w', run: () => router.go({ name: 'waiting' }) },
    { name: 'Switch between dark and light', keys: 't', run: () => prefs.toggleTheme() },
    { name: 'Show or hide the sidebar', keys: `${mod}B`, run: () => prefs.setSidebar(!prefs.sidebarOpen) },
    { name: 'Show or hide the panel', keys: '', run: () => prefs.setPanel(!prefs.panelOpen) },
    { name: 'Keys', keys: '?', run: () => { layout.help = true } },
    ...['appearance', 'permissions', 'mcp', 'skills', 'models', 'keys', 'frames'].map(section => ({ name: `Settings: ${section === 'mcp' ? 'MCP servers' : section}`, keys: section === 'appearance' ? 'g s' : '', run: () => router.go({ name: 'settings', section }) })),
  ]
  return [...here, ...anywhere]
}

export const keyRows: [keys: string, what: string][] = [
  [`${mod}K`.trim(), 'Search or run'], ['f', 'Find a file'], [`${mod}F`.trim(), 'Find in the thread'], ['c', 'New thread'], [`${mod}B`.trim(), 'Sidebar'], ['/', 'To the message box'], ['Enter', 'Send, or steer a running turn'],
  ['Shift Enter', 'New line'], ['Esc Esc', 'Stop the turn'], [`${mod}.`.trim(), 'Code or Plan'], [`${mod}J`.trim(), 'Next thing that waits, and back'], ['y', 'Allow once'], ['a', 'Allow for this thread'], ['n', 'Deny'],
  ['1 9', 'Choose an answer'], ['G', 'To the end'], ['g g', 'To the beginning'], ['g w', 'What waits'], ['g t', 'Threads'], ['g s', 'Settings'], ['e', 'Rename'], ['F', 'Fork'], ['p', 'Pin'], ['#', 'Archive'], ['t', 'Theme'], ['?', 'This sheet'],
]
