// `node test/conformance/clients/main.ts [--mistake NAME | --other]`: runs one of the small clients as a command. Its
// settings are in the environment (CLIENT_URL, LOGIN_URL, API_URL, REDIRECT_URI, CLIENT_ID, CLIENT_SECRET, PORT;
// SESSION_KEY: 32 bytes in base64url).
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { buildFaultyClient } from './faulty-client.ts'
import { mistakes } from './mistakes.ts'
import { buildOtherClient } from './other-client.ts'

const print = (line: string) => void process.stdout.write(`${line}\n`)
const { values } = parseArgs({
  options: { mistake: { type: 'string' }, other: { type: 'boolean' }, list: { type: 'boolean' } },
})
if (values.list) {
  for (const { name, checks } of mistakes) print(`${name.padEnd(44)} ${checks.join(' ')}`)
} else {
  const { CLIENT_URL, LOGIN_URL, API_URL, REDIRECT_URI, CLIENT_ID, CLIENT_SECRET, PORT, SESSION_KEY } =
    process.env as Record<string, string>
  const settings = {
    publicUrl: CLIENT_URL!,
    loginUrl: LOGIN_URL!,
    apiUrl: API_URL!,
    redirectUri: REDIRECT_URI!,
    clientId: CLIENT_ID!,
    clientSecret: CLIENT_SECRET!,
    key: SESSION_KEY ? Buffer.from(SESSION_KEY, 'base64url') : randomBytes(32),
    print,
  }
  const server = values.other ? buildOtherClient(settings) : buildFaultyClient(settings, values.mistake)
  server.listen(Number(PORT), 'localhost')
}
