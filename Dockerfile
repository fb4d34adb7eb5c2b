# Two images: "client" contains the client and no file of the sandbox; "sandbox" contains the sandbox and no file of the
# client.
#   docker build --tag application-client .
#   docker build --target sandbox --tag application-sandbox .
# A third image, "conformance", is for CI. This image contains the sandbox and the conformance suite. Its command starts
# the suite:
#   docker build --target conformance --tag application-conformance .
#   docker run --rm --network host application-conformance conformance --client http://localhost:3000

# With a digest instead of the tag, each build uses the same base image:
#   --build-arg NODE_IMAGE=docker.io/library/node@sha256:…
ARG NODE_IMAGE=docker.io/library/node:24-slim

# The packages that the lock file lists for production. npm does not run the install scripts of packages.
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json LICENSE* ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Deletes the tests, documents, type declarations and compiler caches of packages. License files stay, even if they are
# Markdown files.
RUN find ./node_modules -depth -regextype posix-extended \
      -regex '.*/node_modules/(@[^/]+/)?[^/]+/(\.git.*|(tests?|__tests__|docs?|examples?|bench|benchmarks?)(\.[cm]?js)?)' \
      -exec rm -r {} + \
  && find ./node_modules -type f -regextype posix-extended -regex '.*\.([cm]?ts|map|md|tsbuildinfo|test\.[cm]?js)' \
    ! -iregex '.*/(licen[cs]e|notice|copying)[^/]*' -delete
COPY docker/keep-packages.ts /build/

# The base of the images. A running container installs nothing, so npm, corepack and yarn are removed.
FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /opt/yarn* /usr/local/bin/npm /usr/local/bin/npx \
      /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg
WORKDIR /app
# Listen on every address of the container, because Docker cannot publish a port on localhost.
ENV HOST=0.0.0.0
# The number shows that the user is not root. With a name, only /etc/passwd would show this.
USER 1000:1000
ENTRYPOINT ["node"]

# --- The sandbox. The client does not need the lines from here to "--- The client".

FROM packages AS sandbox-files
COPY src/sandbox src/sandbox
COPY src/conformance src/conformance
COPY views/sandbox views/sandbox
COPY docker/make-secrets.ts docker/
RUN node /build/keep-packages.ts src \
  && npm prune --omit=dev --ignore-scripts --offline --no-audit --no-fund && rm package-lock.json

FROM runtime AS sandbox
COPY --from=sandbox-files /app /app
# Mount points. A new volume gets the owner and the mode of the folder at its mount point.
USER 0:0
RUN install -d -m 0700 -o 1000 -g 1000 /app/data /secrets/client /secrets/sandbox /secrets/database /secrets/proxy
USER 1000:1000
# Each password hash is computed in one of four threads, and needs 19 MiB of memory. Without this setting, the C library
# keeps this memory afterwards.
ENV MALLOC_MMAP_THRESHOLD_=1048576
EXPOSE 4000 4001 4002
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "Promise.all([process.env.PORTAL_PORT || 4000, process.env.API_PORT || 4001].map(port => fetch('http://127.0.0.1:' + port + '/health/live'))).then(answers => process.exit(answers.every(answer => answer.ok) ? 0 : 1), () => process.exit(1))"]
CMD ["src/sandbox/main.ts"]
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Application sandbox" \
      org.opencontainers.image.description="The login portal and the application API, for demos, tests and development" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# The same files as in "sandbox". The command is the conformance suite: conformance --client URL. This command ends by
# itself, so the image needs no health check.
FROM sandbox AS conformance
COPY bin bin
HEALTHCHECK NONE
ENTRYPOINT ["node", "bin/application.mjs"]
CMD ["conformance", "--help"]
LABEL org.opencontainers.image.title="Conformance suite" \
      org.opencontainers.image.description="Tests a client against a sandbox of the platform, and reports the client's mistakes"

# --- The client. It is the last target, so "docker build ." builds it.

FROM packages AS client-files
COPY src/client src/client
COPY views/client views/client
RUN node /build/keep-packages.ts src/client \
  && npm prune --omit=dev --ignore-scripts --offline --no-audit --no-fund && rm package-lock.json

FROM runtime AS client
COPY --from=client-files /app /app
EXPOSE 3000
# The check requests /health/live and not /health/ready, because /health/ready also answers 503 while the client stops
# and while its product is not ready. A restart does not help then.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/health/live').then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["src/client/main.ts"]
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Application client" \
      org.opencontainers.image.description="Signs in through the login portal and manages applications" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
