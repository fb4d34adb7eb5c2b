// Mail of the portal. A sandbox sends no mail: the laboratory keeps each message and shows it. Without a laboratory, the
// portal makes no mail.

export interface Mail {
  /** The e-mail address of the account. */
  to: string
  subject: string
  /** Plain text; a line that is an address is a link. */
  text: string
}

export interface Mailbox {
  deliver(mail: Mail): void
  /** The page that shows the mail. */
  url: string
}
