// The rules for the programs of this project: how they start, run, stop, are built and are tested.
import { decision, type Rule, rfc, should } from './rule.ts'

export const settings = {
  'CT-08': decision(
    'If a setting is wrong or missing, the program does not start, and prints one line with the name of the setting but not its value.',
  ),
  'SE-03': decision(
    'Secrets come from the environment or from files. No secret has a default, and a program refuses a placeholder.',
  ),
  'SE-07': decision(
    'Each replica shows the ids of its cookie keys, so that an operator notices if the replicas have different keys.',
  ),
  'SE-08': should(decision('Secrets are compared in constant time.')),
  'CK-02': decision(
    'On loopback addresses, cookies have Secure and the prefix `__Host-` even without https. All other addresses need https.',
  ),
  'CK-11': decision(
    'A cookie that was sealed with an older key is valid while this key is in the list of keys. If this key is no longer in the list, the client deletes the cookie without an error.',
  ),
  'CK-16': decision('The cookies of the client and of the portal have different names.'),
  'UP-09': rfc(9110, '4.3.4', 'The client verifies the certificates of the platform, and no setting disables this.'),
  'UP-10': rfc(
    9700,
    '2.6',
    'The client calls the platform over plain http only on loopback addresses, or at an internal address that a setting names.',
  ),
  'CT-07': decision('A program uses forwarded headers only from proxies that a setting names.'),
} satisfies Record<string, Rule>

export const running = {
  'CT-05': decision(
    'The health checks call no other server and write no line to the log. When a program gets a signal to stop, it first reports that it is not ready.',
  ),
  'CT-06': decision(
    'A program listens on the host and port in its settings. IPv6 addresses work, too. No answer names the server software.',
  ),
  'CT-09': decision('A program serves no source map, and no page contains a path of the code.'),
  'F-26': decision(
    'When a program gets a signal to stop, it finishes the requests that have begun, and stops before a deadline.',
  ),
  'F-27': decision('A second signal stops a program at once.'),
  'F-36': decision(
    'If one replica has a different cookie key, the health check of this replica shows the difference, and visitors get no errors.',
  ),
  'F-37': decision(
    'If a program has no free file descriptors, the program refuses new connections and still serves open connections. The program recovers when file descriptors are free again.',
  ),
  'F-38': decision(
    "If the client's process is paused for five seconds, the client afterwards uses the answers that arrived during the pause, and continues to work.",
  ),
  'F-39': decision(
    'If nobody reads the log output of a program, the program still answers requests, and still ends on a signal.',
  ),
  'F-45': decision('A program keeps an idle connection open for longer than the proxy in front of it does.'),
  'F-46': decision('The host name `localhost` works, whether it stands for 127.0.0.1 or ::1.'),
  'LG-04': decision('A program logs each security event once, with a request id and a hash of the visitor.'),
  'LG-05': decision('Each line of the log has the time in UTC, the program, its version and the id of the request.'),
  'LG-07': decision('A program continues to work when its log is full, slow or closed.'),
  'LG-08': decision('Metrics contain no ids, tokens or addresses with a query.'),
  'LG-09': decision('After an uncaught error, a program writes one line and ends.'),
} satisfies Record<string, Rule>

export const faults = {
  'UP-05': decision('The client accepts at most 16 KiB of headers from the platform.'),
  'UP-08': decision(
    'The client limits its connections to each server. If a server does not answer, only the pages that need this server wait.',
  ),
  'UP-11': rfc(
    6750,
    '2.1',
    'The client writes a token into the Authorization header only if RFC 6750 allows all characters of this token.',
  ),
  'F-01': decision(
    'If the portal is down, the visitor gets a page within a second after the callback. This page offers a new login.',
  ),
  'F-02': decision('`/login` redirects the browser to the portal even if the portal is down.'),
  'F-03': decision(
    'If a host name cannot be resolved, the visitor gets a page within a second. The client recovers when the name can be resolved again.',
  ),
  'F-04': decision(
    'If a host does not accept a connection, the visitor gets a page with status 504 within the deadline.',
  ),
  'F-05': decision(
    'If a certificate is wrong, the visitor gets a page, and the client sends no request to that server.',
  ),
  'F-06': decision(
    'If the headers of an answer do not arrive before the deadline, the client ends the call and closes the socket.',
  ),
  'F-07': decision('If an answer arrives slowly, byte by byte, the client ends the call at the deadline.'),
  'F-08': decision(
    'If a connection is reset before the answer, the visitor gets a page. The client does not repeat a POST.',
  ),
  'F-09': decision(
    'If a connection is reset in the middle of an answer, the visitor gets a page, and the client keeps no part of the answer.',
  ),
  'F-10': decision('The client creates no session from an incomplete answer.'),
  'F-11': decision(
    'If the platform sends a web page where JSON is expected, the client treats this as a failure of the platform.',
  ),
  'F-12': decision(
    'The client stops reading an endless, huge or compressed answer at a limit, and keeps its memory small.',
  ),
  'F-13': decision(
    'If an answer is not HTTP, or has too many headers, the client treats the answer as a failure of the platform.',
  ),
  'F-14': decision(
    'The client does not follow redirects from the platform, and treats a redirect as a failure of the platform.',
  ),
  'F-15': decision(
    'If the portal answers the exchange with invalid_grant, the client shows a page that offers a new login.',
  ),
  'F-16': decision(
    'If the portal answers the exchange with invalid_client, the client writes to the log that the operator has made a mistake. The client does not repeat the call.',
  ),
  'F-17': decision(
    'After a 429 or 503 answer from the platform, the visitor immediately gets a page that says when to try again.',
  ),
  'F-18': decision(
    "After any other error from the platform, the visitor gets a page with status 502. The page shows no part of the platform's answer.",
  ),
  'F-19': decision('While the API is down, people can sign in and sign out, and pages that do not need the API work.'),
  'F-20': decision(
    "The client works even if the portal's clock differs from its own by five minutes, because it counts expires_in from the arrival of the answer.",
  ),
  'F-21': decision('If the clock jumps by a day, each session continues or ends, and causes no error.'),
  'F-22': decision(
    'If the answer to a callback is lost and the browser sends the callback again, the visitor gets a page. The client makes only one exchange, and causes no endless redirects.',
  ),
  'F-23': decision('If an access token expires before the visitor sends a form, the client renews the token once.'),
  'F-24': decision('A slow or failed renewal delays only the pages that need this renewal.'),
  'F-25': decision(
    'If the client cannot read a session, it ends this session without endless redirects, and keeps all other data.',
  ),
  'F-28': decision(
    'If a program is killed during a creation, at most one application exists. When the visitor sends the form again, the client finds this application.',
  ),
  'F-29': decision('An operator can restart or replace replicas one by one at any time without interrupting visitors.'),
  'F-40': decision(
    'If a visitor closes a tab during a request, the client carries out either the whole request or none of it.',
  ),
  'F-41': decision('If a visitor sends a form twice, the client creates only one application.'),
  'F-42': decision(
    'If a form was opened before a sign-out or by another visitor, the client does nothing and shows the reason.',
  ),
  'F-43': decision(
    'After a restart of the portal, a form that the portal sent before the restart is still valid, or the portal shows how to start again.',
  ),
  'F-44': decision(
    'Whatever format an answer from the API has, the visitor gets a page, which leaves out missing values or explains the problem.',
  ),
} satisfies Record<string, Rule>

export const load = {
  'DO-01': decision(
    'A form is at most 32 KiB long, and a JSON body at most 64 KiB. A program answers longer bodies with 413.',
  ),
  'DO-02': decision(
    'If the headers or the body of a request arrive too slowly, a program answers with 408 within a deadline.',
  ),
  'DO-03': decision('The headers of a request are at most 16 KiB long. The program answers longer headers with 431.'),
  'DO-04': decision('A program refuses deeply nested JSON without a crash or a delay.'),
  'DO-05': decision('A program needs only a short time to check a value of a field, whatever the value is.'),
  'DO-06': decision('A program limits the number of open connections, and counts failed sign-ins.'),
  'DO-07': decision('A caller who reads an answer slowly cannot fill the memory of a program.'),
  'DO-08': decision('A program refuses multipart/form-data with 415.'),
  'DO-09': decision(
    'The portal hashes only a few passwords at the same time, and callers from different IP addresses take turns.',
  ),
  'DO-11': rfc(9112, '6.3', 'A program refuses a request whose length is ambiguous.'),
  'DO-12': decision(
    'If the address of a request is invalid or too long, the program answers with a status from 400 to 499.',
  ),
  'DO-13': decision(
    'If the cookies of a host are too large, a program answers with 431 and says what the visitor can do.',
  ),
} satisfies Record<string, Rule>

export const supply = {
  'SC-01': decision('The lock file pins every package by its hash.'),
  'SC-02': decision('Each direct dependency has a written reason, and each package has a licence.'),
  'SC-03': decision('No package that runs in production has a version with a known vulnerability.'),
  'SC-04': decision('The check for known vulnerabilities works without a package registry.'),
  'SC-05': decision('Programs load nothing from the internet at run time.'),
  'SC-06': should(decision('The project fixes known vulnerabilities of high severity within seven days.')),
  'SC-07': decision('Base images are pinned by digest.'),
  'SC-08': decision('Two builds from one lock file contain exactly the same files.'),
  'SC-09': should(decision('The project has no code that builds code, markup or regular expressions from text.')),
  'CT-01': decision('An image runs as a user that is not root, on a read-only disk.'),
  'CT-02': decision('Process 1 of an image is node. After a signal to stop, this process exits with code 0.'),
  'CT-03': decision('An image contains only the files that its program needs.'),
  'CT-04': decision('The client works within 256 MiB of memory.'),
  'CL-30': decision('The tests sign in with a real browser, at a portal on another site.'),
} satisfies Record<string, Rule>
