// Tables of bad values: for a field, for a whole body, for content types, tokens and methods.

/** One bad request. answers.json lists the request by its name. */
export interface BadRequest {
  name: string
  method: string
  url: string
  headers?: Record<string, string>
  payload?: string | Buffer
}

const longUrl = `https://a.example.test/${'x'.repeat(2048)}`

/** Bad values, each with a description as its key. Each value can replace the valid value of a field. */
export const badValues: Record<string, unknown> = {
  'left out': undefined,
  null: null,
  'a number': 5,
  zero: 0,
  'a fraction': 1.5,
  'a boolean': true,
  'an array': ['a'],
  'an empty array': [],
  'an object': { a: 1 },
  empty: '',
  'a space': ' ',
  'a word': 'word',
  'with NUL': 'a\0b',
  'with half a surrogate pair': 'a\ud800b',
  'with markup': '<script>alert(1)</script>',
  '64 characters': 'x'.repeat(64),
  '201 characters': 'x'.repeat(201),
  '200 emoji': '🌦'.repeat(200),
  '201 emoji': '🌦'.repeat(201),
  '2,001 characters': 'x'.repeat(2001),
  '2,049 characters': 'x'.repeat(2049),
  'a long URL': longUrl,
  'an ftp URL': 'ftp://example.test/',
  'a javascript URL': 'javascript:alert(1)',
  'a relative URL': '/relative',
  'a URL with a fragment': 'https://example.test/#a',
  'a URL with a password': 'https://a:b@example.test/',
  'a URL with an odd host': 'https://exa_mple.test/',
}

/** The bad values, except addresses and the longest strings. */
export const badTexts: Record<string, unknown> = Object.fromEntries(
  Object.entries(badValues).filter(([words]) => !/URL|emoji|2,001/.test(words)),
)

/** Bad lists of redirect URIs, in the format of the API: one string, with commas between the URIs. */
export const badRedirectUris: Record<string, unknown> = {
  'only commas': ' , ,',
  'plain http': 'http://example.test/a',
  'loopback and plain http': 'http://localhost:3000/a,http://example.test/a',
  'a fragment': 'https://example.test/a#b',
  'a user': 'https://a@example.test/',
  'a wildcard': 'https://*.example.test/',
  'a backslash': 'https://example.test\\a',
  'a space inside': 'https://example.test/a b',
  'not ASCII': 'https://example.test/ü',
  'no host': 'https://',
  'another scheme': 'com.example:/callback',
  'a longer one than 2,048 characters': longUrl,
  'eleven bad ones': Array.from({ length: 11 }, (_, i) => `bad-${i}`).join(),
  'a good one and twelve bad ones': ['https://example.test/', ...Array.from({ length: 12 }, (_, i) => `b-${i}`)].join(),
  'the same twice': 'https://example.test/,https://example.test/',
}

/** Bodies that are not a JSON object, or not JSON at all. */
export const badJsonBodies: Record<string, string | Buffer | undefined> = {
  'no body': undefined,
  'an empty body': '',
  'half a body': '{"a":',
  'a trailing comma': '{"a":1,}',
  'single quotes': "{'a':1}",
  'two values': '{} {}',
  'a byte order mark': '\ufeff{}',
  'no UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'a form': 'a=b&c=d',
  null: 'null',
  'a number': '5',
  'a boolean': 'false',
  'a string': '"text"',
  'an array': '[]',
  'an array of objects': '[{}]',
  'an empty object': '{}',
  // Without the brackets, JavaScript would ignore this line: the value of __proto__ is not an object.
  ['__proto__']: '{"__proto__":{"a":1}}',
  'an inner __proto__': '{"data":{"__proto__":{"a":1}}}',
  'a constructor with a prototype': '{"constructor":{"prototype":{"a":1}}}',
  '21 levels': `${'['.repeat(21)}${']'.repeat(21)}`,
  '21 levels in a field': `{"data":${'{"a":'.repeat(20)}1${'}'.repeat(20)}}`,
  '20,000 levels': `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  '33 KiB': `{"a":"${'x'.repeat(33 * 1024)}"}`,
  '65 KiB': `{"a":"${'x'.repeat(65 * 1024)}"}`,
  '65 KiB that are no JSON': 'x'.repeat(65 * 1024),
}

export const badContentTypes: Record<string, string> = {
  'text/plain': 'text/plain',
  'a form': 'application/x-www-form-urlencoded',
  'multipart/form-data': 'multipart/form-data; boundary=a',
  'application/xml': 'application/xml',
  'application/vnd.api+json': 'application/vnd.api+json',
  'application/json with a charset': 'application/json; charset=iso-8859-1',
  'no type at all': 'nonsense',
}

export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

/** Bad values for an id in a path. */
export const badIds: Record<string, string> = {
  'a word': 'word',
  'an unknown id': '6f2b1c9e-0000-4000-8000-000000000000',
  'an upper case id': '6F2B1C9E-0000-4000-8000-000000000000',
  NUL: '%00',
  'half a surrogate pair': '%ed%a0%80',
  'a broken escape': '%zz',
  'a slash': 'a%2fb',
  dots: '..%2f..',
  'a space': 'a%20b',
  markup: '%3Cb%3E',
  '65 characters': 'x'.repeat(65),
  '101 characters': 'x'.repeat(101),
}

/**
 * For each field and each bad value, the function yields the good fields with this one bad value. The value undefined
 * leaves the field out.
 */
export function* changeFields(
  good: Record<string, unknown>,
  values: Record<string, unknown> = badValues,
  names: string[] = Object.keys(good),
): Generator<[name: string, fields: Record<string, unknown>]> {
  for (const name of names)
    for (const [words, value] of Object.entries(values)) yield [`${name}: ${words}`, { ...good, [name]: value }]
}

/** Encodes the fields as a form. For a list, the form repeats the field. Undefined fields are left out. */
export function toForm(fields: Record<string, unknown>): string {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return new URLSearchParams(pairs).toString()
}
