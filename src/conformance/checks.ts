// Every check, in the order in which they run and are told.
import type { Check } from './check.ts'
import { apiFaults } from './checks/api-faults.ts'
import { comingBack } from './checks/coming-back.ts'
import { exchange } from './checks/exchange.ts'
import { log } from './checks/log.ts'
import { pages } from './checks/pages.ts'
import { portalFaults } from './checks/portal-faults.ts'
import { startingALogin } from './checks/starting-a-login.ts'

export const checks: Check[] = [startingALogin, comingBack, exchange, pages, portalFaults, apiFaults, log].flat()
