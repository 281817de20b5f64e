// One hash of everything that dist is made from. `--write` puts it into dist/source-hash; without, it prints it.
// A test outside of Node can make the same: sha256 over, for each file in the order of its path's bytes, "<path>\0<sha256 of the file, hex>\n".
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const roots = ['index.html', 'package-lock.json', 'package.json', 'public', 'src', 'svelte.config.js', 'tsconfig.json', 'vite.config.ts']

function filesOf(path) {
  if (!statSync(new URL(path, root)).isDirectory()) return [path]
  return readdirSync(new URL(`${path}/`, root)).flatMap(name => filesOf(`${path}/${name}`))
}

const sha = data => createHash('sha256').update(data).digest('hex')
const files = roots.flatMap(filesOf).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
const hash = sha(files.map(path => `${path}\0${sha(readFileSync(new URL(path, root)))}\n`).join(''))

if (process.argv.includes('--write')) writeFileSync(new URL('dist/source-hash', root), `${hash}\n`)
else console.log(hash)
