import { defineConfig } from 'vitest/config'

// The real page in a real browser against a real server: DRAGOMAN_BIN names it, CHROMIUM the browser, SHOTS where pictures go.
export default defineConfig({ test: { include: ['tests/browser/**/*.test.ts'], environment: 'node', testTimeout: 60_000, hookTimeout: 60_000, fileParallelism: false } })
