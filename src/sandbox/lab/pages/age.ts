// How long ago something happened, in words. On an open page, views/sandbox/lab/ages.js updates these words.

const relativeTime = new Intl.RelativeTimeFormat('en')
const units = [
  [24 * 3600, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const

export function formatAge(time: Date, now: Date): string {
  const seconds = Math.floor((now.getTime() - time.getTime()) / 1000)
  const [size, unit] = units.find(([size]) => seconds >= size) ?? []
  return size === undefined ? 'just now' : relativeTime.format(-Math.floor(seconds / size), unit)
}
