// Ready lines for a terminal that call the application API.

/** `create` is undefined without a group. Nothing in them needs quoting: addresses, a JWT and ids have no quotes. */
export function makeCurlLines(
  apiUrl: string,
  accessToken: string,
  groupId: string | undefined,
): { list: string; create: string | undefined } {
  const call = `curl -sS ${apiUrl}/apps/v1 -H 'Authorization: Bearer ${accessToken}'`
  return { list: call, create: groupId && `${call} -H 'Content-Type: application/json' -d '${makeBody(groupId)}'` }
}

function makeBody(groupId: string): string {
  return JSON.stringify({
    context: 'https://standards.oftrust.net/v2/Context/Identity/Digital/Software/App/',
    type: 'App',
    data: {
      groupId,
      name: 'My first application',
      description: '',
      webPageUrl: '',
      iconUrl: '',
      privacyPolicyUrl: '',
      redirectUris: 'http://localhost:3000/exchangeToken',
      scopes: '',
      defaultScopes: '',
    },
  })
}
