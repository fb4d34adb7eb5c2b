/** Parses a Set-Cookie line into an object like those that `inject` returns, for servers that tests call over HTTP. */
export function readSetCookie(line: string) {
  const [pair = '', ...attributes] = line.split(/; */)
  const [name = '', value = ''] = pair.split(/=(.*)/s)
  const given = new Map(attributes.map(one => one.split('=', 2) as [string, string]))
  const [maxAge, sameSite, path] = [given.get('Max-Age'), given.get('SameSite'), given.get('Path')]
  const domain = given.get('Domain')
  return {
    name,
    value,
    ...(maxAge !== undefined && { maxAge: Number(maxAge) }),
    ...(sameSite !== undefined && { sameSite }),
    ...(path !== undefined && { path }),
    ...(domain !== undefined && { domain }),
    secure: given.has('Secure'),
  }
}
