// The thread in which a large database file is looked through; it posts the damage, if there is any.
import { parentPort, workerData } from 'node:worker_threads'
import { findDamage } from './find-damage.ts'

const damage = findDamage(workerData as string)
if (damage) parentPort?.postMessage(damage)
