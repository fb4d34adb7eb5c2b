// The commands that start the proxies of docs/how-to/behind-a-proxy.md.
import { join } from 'node:path'

export type ProxyName = 'nginx' | 'caddy' | 'haproxy'

/** The folder contains the configuration, such as nginx.conf. nginx writes its error log into the folder. */
export function proxyCommand(proxy: ProxyName, folder: string): [program: string, parameters: string[]] {
  const file = join(folder, `${proxy}.conf`)
  const parameters = {
    nginx: ['-c', file, '-e', join(folder, 'error.log'), '-g', `daemon off; pid ${join(folder, 'nginx.pid')};`],
    caddy: ['run', '--adapter', 'caddyfile', '--config', file],
    haproxy: ['-f', file],
  }
  return [proxy, parameters[proxy]]
}
