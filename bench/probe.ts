// Loaded into every server that is measured (--import): tells its own CPU time and memory when asked.

export type Reading = { cpuMicroseconds: number; residentBytes: number }

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  const reading: Reading = { cpuMicroseconds: user + system, residentBytes: process.memoryUsage.rss() }
  process.send?.(reading)
})
