// Example commands for curl.

/** Returns a command that lists the applications of the user whose access token is in the variable TOKEN. */
export function curlList(apiUrl: string): string {
  // Inside double quotes, the shell replaces the variable with its value.
  return `curl -sS ${apiUrl}/apps/v1 \\\n  -H "Authorization: Bearer $TOKEN"`
}
