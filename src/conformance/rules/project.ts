// The rules for the programs of this project: how they start, run, stop, are built and are tested.
import { decision, type Rule, rfc, should } from './rule.ts'

export const settings = {
  'CT-08': decision(
    'A wrong or missing setting stops the start with one line that names the setting and not its value.',
  ),
  'SE-03': decision(
    'Secrets come from the environment or from files. None has a default, and a placeholder is refused.',
  ),
  'SE-07': decision('Each replica shows the ids of its cookie keys, so that a difference is seen.'),
  'SE-08': should(decision('Secrets are compared in constant time.')),
  'CK-02': decision('Cookies keep Secure and `__Host-` on loopback addresses. Other addresses need https.'),
  'CK-11': decision(
    'A cookie that was sealed with an older key still counts while the key is listed. Without the key it is dropped cleanly.',
  ),
  'CK-16': decision('The cookies of the client and of the portal have different names.'),
  'UP-09': rfc(9110, '4.3.4', 'Certificates of the platform are verified. No setting turns that off.'),
  'UP-10': rfc(
    9700,
    '2.6',
    'The client calls the platform over plain http only on loopback addresses, or at an internal address that is set.',
  ),
  'CT-07': decision('Forwarded headers count only from proxies that a setting names.'),
} satisfies Record<string, Rule>

export const running = {
  'CT-05': decision(
    'The health checks call no other server and write no line. Told to stop, a program first says that it is not ready.',
  ),
  'CT-06': decision(
    'A program listens on the host and port of its settings, IPv6 included, and no answer names its software.',
  ),
  'CT-09': decision('No source map is served, and no page contains a path of the code.'),
  'F-26': decision('Told to stop, a program finishes the requests that have begun, and stops before a deadline.'),
  'F-27': decision('A second signal stops a program at once.'),
  'F-36': decision('A cookie key that differs on one replica is shown by its health check, and causes no errors.'),
  'F-37': decision(
    'Without free file descriptors a program refuses new connections, serves the open ones and recovers.',
  ),
  'F-38': decision('After a pause of five seconds the client uses the answers that came meanwhile, and recovers.'),
  'F-39': decision('A program works on, and can stop, although nobody reads its log.'),
  'F-45': decision('A program keeps an idle connection longer than a proxy in front of it does.'),
  'F-46': decision('`localhost` works whether it means 127.0.0.1 or ::1.'),
  'LG-04': decision('Events that matter for security are logged once, with a request id and the visitor as a hash.'),
  'LG-05': decision('Each line of the log has the time in UTC, the program, its version and the id of the request.'),
  'LG-07': decision('A log that is full, slow or closed stops no program.'),
  'LG-08': decision('Metrics contain no ids, tokens or addresses with a query.'),
  'LG-09': decision('An error that nothing catches writes one line and ends the program.'),
} satisfies Record<string, Rule>

export const faults = {
  'UP-05': decision('The client accepts at most 16 KiB of headers from the platform.'),
  'UP-08': decision(
    'The client has a limit of connections to each server. One that hangs does not hold up other pages.',
  ),
  'UP-11': rfc(6750, '2.1', 'The client builds the Authorization header only from characters that a token may have.'),
  'UP-16': should(decision('A connection that the platform closes while it is idle causes no error on a page.')),
  'F-01': decision('While the portal is down, an exchange ends within a second on a page that offers a new login.'),
  'F-02': decision('`/login` redirects although the portal is down.'),
  'F-03': decision(
    'A host name that cannot be resolved is a page within a second, and works as soon as it can be resolved.',
  ),
  'F-04': decision('A host that does not answer a connection is a page with 504 within the deadline.'),
  'F-05': decision('A wrong certificate ends on a page, and the client sends nothing to that server.'),
  'F-06': decision('An answer whose headers never come ends at the deadline, and its socket is freed.'),
  'F-07': decision('An answer that trickles in ends at the deadline.'),
  'F-08': decision('A connection that is reset before the answer ends on a page. A POST is not sent again.'),
  'F-09': decision(
    'A connection that is reset in the middle of an answer ends on a page, and nothing of the answer is kept.',
  ),
  'F-10': decision('An answer that is cut off is never a session.'),
  'F-11': decision('A page in place of JSON is a failure of the platform.'),
  'F-12': decision('An endless, huge or compressed answer ends at the limit, without taking memory.'),
  'F-13': decision('An answer that is not HTTP, or has too many headers, is a failure of the platform.'),
  'F-14': decision('A redirect in place of an answer is followed nowhere, and is a failure of the platform.'),
  'F-15': decision('invalid_grant at the exchange leads to a page that offers a new login.'),
  'F-16': decision(
    'invalid_client at the exchange is a fault of the operator. The log says so, and the call is not repeated.',
  ),
  'F-17': decision('The page after a 429 or 503 says when to try again. The request itself does not wait.'),
  'F-18': decision('Any other error of the platform is a page with 502, which shows nothing of the answer.'),
  'F-19': decision('While the API is down, login, sign-out and other pages work.'),
  'F-20': decision(
    'A clock of the portal that differs by five minutes does no harm: expires_in counts from the arrival of the answer.',
  ),
  'F-21': decision('A clock that jumps by a day ends sessions cleanly, or leaves them.'),
  'F-22': decision('A callback whose answer was lost ends on a page with one exchange and no loop.'),
  'F-23': decision('An access token that expires between a form and its sending is renewed once.'),
  'F-24': decision('A slow or failing renewal holds up only the pages that need it.'),
  'F-25': decision('A session that cannot be read ends once, without a loop, and with nothing else.'),
  'F-28': decision(
    'A program that is killed during a creation leaves one application at most. The form that is sent again finds it.',
  ),
  'F-29': decision('Replicas can be restarted and replaced one by one between any two steps.'),
  'F-40': decision('A tab that is closed during a step leaves nothing half done.'),
  'F-41': decision('A form that is sent twice creates one application.'),
  'F-42': decision('A form from before a sign-out, or of another visitor, does nothing and says why.'),
  'F-43': decision('After a restart of the portal, a form of an earlier page still counts or says how to start again.'),
  'F-44': decision('An answer of the API of any shape is a page, with gaps or with an explanation.'),
} satisfies Record<string, Rule>

export const load = {
  'DO-01': decision('A form has at most 32 KiB and a JSON body at most 64 KiB. Longer bodies get 413.'),
  'DO-02': decision('Headers or a body that arrive slowly end in 408 within a deadline.'),
  'DO-03': decision('The headers of a request have at most 16 KiB. Longer ones get 431.'),
  'DO-04': decision('Deeply nested JSON is refused without a crash and without a pause.'),
  'DO-05': decision('No value of a field takes long to check.'),
  'DO-06': decision('The number of open connections is limited, and failed sign-ins are counted.'),
  'DO-07': decision('Slow readers do not fill the memory.'),
  'DO-08': decision('multipart/form-data is refused with 415.'),
  'DO-09': decision('Only a few passwords are hashed at once, and each source has its turn.'),
  'DO-11': rfc(9112, '6.3', 'A request whose length is ambiguous is refused.'),
  'DO-12': decision('Addresses that cannot be read or are too long get a status from 400 to 499.'),
  'DO-13': decision('Too many cookies of one host get a 431 that says what to do.'),
  'DO-14': decision('One request causes two calls of the platform at most, and one more for the name at a login.'),
} satisfies Record<string, Rule>

export const supply = {
  'SC-01': decision('The lock file pins every package by its hash.'),
  'SC-02': decision('Each direct dependency has a written reason, and each package a licence.'),
  'SC-03': decision('No package that runs in production is older than the list of known faults allows.'),
  'SC-04': decision('The check for known faults needs no registry.'),
  'SC-05': decision('Programs load nothing from the internet at run time.'),
  'SC-06': should(decision('Known holes of high severity are closed within seven days.')),
  'SC-07': decision('Images of others are pinned by digest.'),
  'SC-08': decision('Two builds from one lock file are equal, file by file.'),
  'SC-09': should(decision('No code builds code, markup or patterns from text.')),
  'CT-01': decision('An image runs as a user that is not root, on a read-only disk.'),
  'CT-02': decision('Process 1 of an image is node. It stops with 0 when told to.'),
  'CT-03': decision('An image holds only what its program needs.'),
  'CT-04': decision('The client works within 256 MiB of memory.'),
  'CL-30': decision('The tests sign in with a real browser, at a portal on another site.'),
} satisfies Record<string, Rule>
