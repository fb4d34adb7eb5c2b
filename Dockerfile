# Two images: "client" holds the client and nothing of the sandbox, "sandbox" the other way round.
#   docker build --tag application-client .
#   docker build --target sandbox --tag application-sandbox .

# A digest in place of the tag makes builds comparable: --build-arg NODE_IMAGE=docker.io/library/node@sha256:…
ARG NODE_IMAGE=docker.io/library/node:24-slim

# What the lock file installs in production. No package gets to run a script of its own.
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json LICENSE* ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Packages bring tests, documents and type declarations, which nothing reads here. Licences stay.
RUN find ./node_modules -depth -regextype posix-extended \
      -regex '.*/node_modules/(@[^/]+/)?[^/]+/(\.git.*|(tests?|__tests__|docs?|examples?|bench|benchmarks?)(\.[cm]?js)?)' \
      -exec rm -r {} + \
  && find ./node_modules -type f -regextype posix-extended -regex '.*\.([cm]?ts|map|test\.[cm]?js)' -delete
COPY docker/keep-packages.ts /build/

# What it runs on. A running container installs nothing, so the programs that install are not there.
FROM ${NODE_IMAGE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /opt/yarn* /usr/local/bin/npm /usr/local/bin/npx \
      /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg
WORKDIR /app
# Every address of the container: what listens on localhost alone cannot be published.
ENV HOST=0.0.0.0
# A number: whether it is root must be visible without looking a name up.
USER 1000:1000
ENTRYPOINT ["node"]

# --- From here on it is about the sandbox alone.

FROM packages AS sandbox-files
COPY src/sandbox src/sandbox
COPY src/conformance src/conformance
COPY views/sandbox views/sandbox
COPY docker/make-secrets.ts docker/
RUN node /build/keep-packages.ts src \
  && npm prune --omit=dev --ignore-scripts --offline --no-audit --no-fund && rm package-lock.json

FROM runtime AS sandbox
COPY --from=sandbox-files /app /app
# Where volumes are mounted: a new volume takes over owner and mode of the folder that it covers.
USER 0:0
RUN install -d -m 0700 -o 1000 -g 1000 /app/data /secrets/client /secrets/sandbox /secrets/database /secrets/proxy
USER 1000:1000
# Hashing a password takes 19 MiB, in any of four threads. Without this the C library keeps them all for later.
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

# --- From here on it is about the client alone. It is last, so that "docker build ." gives it.

FROM packages AS client-files
COPY src/client src/client
COPY views/client views/client
RUN node /build/keep-packages.ts src/client \
  && npm prune --omit=dev --ignore-scripts --offline --no-audit --no-fund && rm package-lock.json

FROM runtime AS client
COPY --from=client-files /app /app
EXPOSE 3000
# Live and not ready: whoever restarts unhealthy containers must not do so because the portal is away.
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
