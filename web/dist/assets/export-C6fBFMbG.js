import{F as e}from"./index-C6xJM4u0.js";function t(e){let t=e.turns.map(e=>e.items.map(n).filter(Boolean).join(`

`));return`# ${e.name??`Thread`}\n\n*${e.cwd} · ${e.model} · ${new Date(e.createdAt*1e3).toISOString()}*\n\n${t.join(`

---

`)}\n`}function n(t){switch(t.type){case`userMessage`:return`**You:**\n\n${t.content.map(e=>e.type===`text`?e.text:`*(a picture)*`).join(`

`)}`;case`agentMessage`:return t.text;case`plan`:return`**Plan**\n\n${t.text}`;case`reasoning`:return[...t.content,...t.summary].filter(Boolean).map(e=>e.replace(/^/gm,`> `)).join(`
>
`);case`commandExecution`:return`${r(`$ ${e(t.command)}\n${t.aggregatedOutput??``}`,`console`)}${t.exitCode?`\n\n*exit ${t.exitCode}*`:``}`;case`fileChange`:return t.changes.map(e=>`\`${e.path}\`\n\n${r(e.diff,`diff`)}`).join(`

`);case`mcpToolCall`:return`*${t.server}.${t.tool}* ${r(JSON.stringify(t.arguments),`json`)}`;case`dynamicToolCall`:return`*${t.tool}* \`${JSON.stringify(t.arguments)}\``;case`webSearch`:return`*Looked up:* ${t.query}`;case`imageView`:return`*Looked at:* ${t.path}`;case`collabAgentToolCall`:return`*Sub-agent:* ${t.prompt??``}`;case`contextCompaction`:return`*Context compacted*`;case`enteredReviewMode`:return`*Review: ${t.review}*`;case`exitedReviewMode`:return`*Review ended*`}}function r(e,t){let n=Math.max(2,...[...e.matchAll(/`+/g)].map(e=>e[0].length)),r="`".repeat(n+1);return`${r}${t}\n${e.replace(/\n$/,``)}\n${r}`}export{t as markdownOf};