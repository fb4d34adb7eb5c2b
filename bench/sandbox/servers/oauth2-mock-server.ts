// Starts oauth2-mock-server, which does not check the client or the code. The server signs an ID token and an access
// token.
import { OAuth2Server } from 'oauth2-mock-server'

const server = new OAuth2Server()
await server.issuer.keys.generate('ES256')
await server.start(0, '127.0.0.1')
console.log(`listening at http://127.0.0.1:${server.address().port};`)
