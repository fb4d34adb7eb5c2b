// What set-up works with, and what it is told how to do.
import type { ClientLifetimes } from '../../grants/lifetimes.ts'
import type { Services } from '../../services.ts'

export interface SetUpParts extends Pick<Services, 'addresses' | 'store' | 'keyRing' | 'passwords' | 'clock'> {
  lifetimes: ClientLifetimes
  /** Applies the SEED_ settings again, changed or not; where there are none, it does nothing. */
  applySeeds(): Promise<void>
  /** Sends the portal a GET as a browser would, with all that watches the portal and makes it fail. */
  askPortal(request: { url: string; headers: Record<string, string> }): Promise<{ location: string | undefined }>
}
