// Loaded into every measured server (--import). Reports the server's CPU time and memory when asked.

export type Reading = { cpuMicroseconds: number; residentBytes: number }

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  const reading: Reading = { cpuMicroseconds: user + system, residentBytes: process.memoryUsage.rss() }
  process.send?.(reading)
})
