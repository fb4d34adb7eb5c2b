// Starts two replicas of the client behind nginx, caddy or haproxy. The proxy's configuration comes from
// docs/how-to/behind-a-proxy.md. Usage: node test/how-to/start-behind-proxy.ts nginx FOLDER. FOLDER must contain
// certificate.pem and key.pem.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePorts } from '../support/free-port.ts'
import { type ProxyName, proxyCommand } from './proxy-command.ts'

const [proxy, folder] = process.argv.slice(2) as [ProxyName, string]
const { PORT = '' } = process.env
const ports = await findFreePorts(3)

/** Replacements for this machine: addresses, files and ports. Each replaced text must be in the document. */
const changes: Record<ProxyName, [from: string, to: string][]> = {
  nginx: [
    ['listen 443 ssl', `listen 127.0.0.1:${PORT} ssl`],
    ['listen 80', `listen 127.0.0.1:${ports[2]}`],
    ['server_name client.example', 'server_name localhost'],
    ['/etc/nginx/tls/client.example.pem', join(folder, 'certificate.pem')],
    ['/etc/nginx/tls/client.example.key', join(folder, 'key.pem')],
    ['/var/log/nginx/access.log', join(folder, 'access.log')],
  ],
  caddy: [
    ['client.example {', `https://localhost:${PORT} {`],
    ['/etc/caddy/tls/client.example.pem', join(folder, 'certificate.pem')],
    ['/etc/caddy/tls/client.example.key', join(folder, 'key.pem')],
  ],
  haproxy: [
    ['bind :443', `bind 127.0.0.1:${PORT}`],
    ['bind :80', `bind 127.0.0.1:${ports[2]}`],
    ['/etc/haproxy/tls/client.example.pem', join(folder, 'both.pem')],
  ],
}
const languages: Record<ProxyName, string> = { nginx: 'nginx', caddy: 'caddyfile', haproxy: 'haproxy' }

const document = readFileSync('docs/how-to/behind-a-proxy.md', 'utf8')
let configuration = new RegExp(`\`\`\`${languages[proxy]}\n([\\s\\S]*?)\`\`\``).exec(document)?.[1] ?? ''
const replicas: [string, string][] = [
  ['127.0.0.1:3001', `127.0.0.1:${ports[0]}`],
  ['127.0.0.1:3002', `127.0.0.1:${ports[1]}`],
]
for (const [from, to] of [...replicas, ...changes[proxy]]) {
  if (!configuration.includes(from)) throw new Error(`The configuration of ${proxy} has no "${from}".`)
  configuration = configuration.replaceAll(from, to)
}
// Otherwise Caddy would also listen on port 80 and on its administration port.
if (proxy === 'caddy') configuration = configuration.replace('{\n', '{\n\tadmin off\n\tauto_https disable_redirects\n')
writeFileSync(join(folder, `${proxy}.conf`), configuration)
writeFileSync(
  join(folder, 'both.pem'),
  ['certificate.pem', 'key.pem'].map(name => readFileSync(join(folder, name), 'utf8')).join('\n'),
)

const stdio = 'inherit' as const
const children: ChildProcess[] = [
  ...ports
    .slice(0, 2)
    .map(port =>
      spawn(process.execPath, ['src/client/main.ts'], {
        env: { ...process.env, HOST: '127.0.0.1', PORT: String(port) },
        stdio,
      }),
    ),
  spawn(...proxyCommand(proxy, folder), { env: { ...process.env, HOME: folder }, stdio }),
]
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    for (const child of children) child.kill(signal)
  })
// If one of the processes ends, all others are stopped.
for (const child of children)
  child.on('close', code => {
    for (const other of children) other.kill()
    process.exitCode = code ?? 1
  })
