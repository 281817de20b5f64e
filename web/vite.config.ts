import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// The page is served from any base path, so every URL in it is relative. No source maps: dist is embedded in the binary.
// `npm run dev` stands before a running server (DRAGOMAN_URL); its codex endpoint refuses foreign origins, so the proxy takes its own.
const server = process.env['DRAGOMAN_URL'] ?? 'http://127.0.0.1:7337'

export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    target: 'es2022',
    sourcemap: false,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/codex': { target: server.replace('http', 'ws'), ws: true, rewriteWsOrigin: true } },
  },
  preview: { host: '127.0.0.1' },
  test: { include: ['tests/unit/**/*.test.ts'], environment: 'node' },
} as import('vite').UserConfig & { test: unknown })
