// What the set-up calls need of the sandbox.
import type { ClientLifetimes } from '../../grants/lifetimes.ts'
import type { Services } from '../../services.ts'

export interface SetUpParts extends Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock'> {
  lifetimes: ClientLifetimes
  /** Applies the SEED_ settings again, changed or not. Without such settings it does nothing. */
  applySeeds(): Promise<void>
  /** Sends the portal a GET as a browser would. It is recorded, and ordered faults happen to it. */
  askPortal(request: { url: string; headers: Record<string, string> }): Promise<{ location: string | undefined }>
}
