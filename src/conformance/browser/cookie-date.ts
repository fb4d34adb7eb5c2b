// Reads the date in Expires as browsers do: RFC 6265, 5.1.1.
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Returns milliseconds since 1970, or undefined if browsers do not accept the text as a date. */
export function readCookieDate(text: string): number | undefined {
  let time: number[] | undefined
  let day: number | undefined
  let month: number | undefined
  let year: number | undefined
  for (const token of text.split(/[\t\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+/)) {
    const clock = /^(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D|$)/.exec(token)
    const named = months.indexOf(token.slice(0, 3).toLowerCase())
    if (!time && clock) time = clock.slice(1).map(Number)
    else if (day === undefined && /^\d{1,2}(?:\D|$)/.test(token)) day = Number.parseInt(token, 10)
    else if (month === undefined && named >= 0) month = named
    else if (year === undefined && /^\d{2,4}(?:\D|$)/.test(token)) year = toYear(Number.parseInt(token, 10))
  }
  if (!time || day === undefined || month === undefined || year === undefined) return undefined
  const [hours = 0, minutes = 0, seconds = 0] = time
  if (day < 1 || year < 1601 || hours > 23 || minutes > 59 || seconds > 59) return undefined
  const at = new Date(Date.UTC(year, month, day, hours, minutes, seconds))
  return at.getUTCDate() === day ? at.getTime() : undefined
}

function toYear(number: number): number {
  if (number >= 70 && number <= 99) return number + 1900
  return number < 70 ? number + 2000 : number
}
