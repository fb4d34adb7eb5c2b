// A load balancer that sends each request to the next replica that is ready.
import { once } from 'node:events'
import { createServer, request as forward } from 'node:http'
import type { Test } from 'tap'

/**
 * The interval of the readiness checks. The interval is so short that several checks happen in the last second before a
 * replica stops.
 */
const lookEveryMs = 200

/**
 * Starts the load balancer. `origins` are the addresses of the replicas. A replica that refuses the connection has not
 * handled the request, so the request goes to the next replica.
 */
export async function startSwitch(t: Test, port: number, origins: string[]) {
  const served = new Map(origins.map(origin => [origin, 0]))
  const ready = new Set(origins)
  const looking = setInterval(() => {
    for (const origin of origins)
      fetch(`${origin}/health/ready`).then(
        ({ ok }) => (ok ? ready.add(origin) : ready.delete(origin)),
        () => ready.delete(origin),
      )
  }, lookEveryMs)
  t.teardown(() => clearInterval(looking))
  let turn = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    for (let tries = 0; tries < origins.length * 2; tries++) {
      const candidates = origins.filter(origin => ready.has(origin))
      const origin = candidates[turn++ % candidates.length] ?? origins[0]!
      try {
        await new Promise<void>((resolve, reject) => {
          const { method = 'GET', headers } = request
          const onward = forward(origin + request.url, { method, headers, agent: false }, answer => {
            response.writeHead(answer.statusCode ?? 502, answer.headers)
            answer.pipe(response)
            answer.once('end', resolve).once('error', reject)
          })
          onward.once('error', reject)
          onward.end(body)
        })
        served.set(origin, (served.get(origin) ?? 0) + 1)
        return
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') break
      }
    }
    if (!response.headersSent) response.writeHead(502)
    response.end()
  })
  server.listen(port, 'localhost')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { served }
}
