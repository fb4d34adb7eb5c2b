// Node loads this file into every measured server (--import). This file reports the server's CPU time and memory when
// the bench asks.

export type Reading = { cpuMicroseconds: number; residentBytes: number }

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  const reading: Reading = { cpuMicroseconds: user + system, residentBytes: process.memoryUsage.rss() }
  process.send?.(reading)
})
