// Tests which redirect URIs with http can be registered.
import t from 'tap'
import { buildTestSandbox } from '../support/build-test-sandbox.ts'
import { callAsDeveloper, makeCreateBody } from '../support/call-api.ts'

t.test('AZ-14: a redirect URI with http can be registered only if its host is a loopback host', async t => {
  const { call, groupId } = await callAsDeveloper(await buildTestSandbox(t))
  const register = async (uri: string) => {
    const fields = { redirectUris: uri, defaultRedirectUri: uri }
    return (await call('POST', '/apps/v1', makeCreateBody(groupId, fields))).statusCode
  }
  const refused = [
    'http://example.com/cb',
    'http://localhost.example.com/cb',
    'http://127.0.0.1.example.com/cb',
    'http://10.0.0.1/cb',
    'http://[::2]/cb',
  ]
  for (const uri of refused) t.equal(await register(uri), 422, uri)
  for (const uri of ['https://example.com/cb', 'http://localhost:3000/cb', 'http://127.0.0.1/cb', 'http://[::1]:1/cb'])
    t.equal(await register(uri), 201, uri)
})
